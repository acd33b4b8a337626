"""Statements to closures: `(simt, mask) -> mask of the threads that go on` (None: none does).

Control flow is generators, so that a thread that waits lets the others of its block run: both sides
of an `if` are alive at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from hidet.errors import BadKernel, at
from hidet.intrinsics import INTRINSICS
from hidet.ir.expr import Const, Expr, FloorDiv, FloorMod, Get, Load, Var, wrap
from hidet.ir.stmt import (
    Body,
    Break,
    Continue,
    Declare,
    For,
    ForTasks,
    If,
    Invoke,
    LoopKind,
    Return,
    Stmt,
    While,
)
from hidet.ir.walk import postorder
from hidet.sim.interpreter.actions import Actions
from hidet.sim.interpreter.compile_expr import Code, Expressions
from hidet.sim.interpreter.context import Call
from hidet.sim.threads.fork import forked, joined
from hidet.sim.threads.going import Going, Waiting, narrowed, remaining, together, union
from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.threads.spin import Spin
from hidet.sim.values import Mask, some, varies
from hidet.types import i32


@dataclass(frozen=True)
class Step:
    """One statement, compiled. `waits` says that `run` is a generator."""

    run: Callable[[SimtGroup, Mask], Any]
    waits: bool = False


class Statements:
    """Compiles statements; `sites` numbers those that may fault."""

    def __init__(self, in_cpu: bool) -> None:
        self.in_cpu = in_cpu
        """Whether loops marked parallel or vector are run as SIMT groups of their own."""
        self.expr = Expressions()
        self.actions = Actions(self.expr)
        self.sites: list[Stmt] = []
        self.loops: list[Stmt] = []

    def body(self, stmts: Iterable[Stmt]) -> Callable[[SimtGroup, Mask], Waiting]:
        """Statements one after the other."""
        steps = [(step.run, step.waits) for step in map(self.stmt, stmts)]

        def run(simt: SimtGroup, mask: Mask) -> Waiting:
            for step, waits in steps:
                going = (yield from step(simt, mask)) if waits else step(simt, mask)
                if going is None:
                    return None
                mask = going
            return mask

        return run

    def stmt(self, s: Stmt) -> Step:
        """One statement, by its class; what cannot be compiled is an error at its line."""
        with at(getattr(s, "place", None)):
            return self.compiled(s)

    def compiled(self, s: Stmt) -> Step:
        """One statement, by its class."""
        match s:
            case For(kind=LoopKind.PARALLEL | LoopKind.VECTOR) if self.in_cpu:
                return Step(self.fork(s), waits=True)
            case For():
                return Step(self.counted(s), waits=True)
            case ForTasks():
                return Step(self.tasks(s), waits=True)
            case While():
                return Step(self.repeated(s), waits=True)
            case If():
                return Step(self.branch(s), waits=True)
            case Invoke():
                return self.invoke(s)
            case Break() | Return() | Continue():
                return Step(self.leave(s))
        return Step(self.simple(s))

    def site(self, s: Stmt) -> int:
        """The number of a statement."""
        self.sites.append(s)
        return len(self.sites) - 1

    # ---- statements without control flow ---------------------------------------------------------

    def simple(self, s: Stmt) -> Callable[[SimtGroup, Mask], Going]:
        """A statement after which the same threads go on."""
        act, site = self.actions(s), self.site(s)

        def run(simt: SimtGroup, mask: Mask) -> Going:
            simt.site = site
            act(simt, mask)
            return mask

        return run

    # ---- control flow ----------------------------------------------------------------------------

    def leave(self, s: Stmt) -> Callable[[SimtGroup, Mask], Going]:
        """`break`, `continue`, `return`: nobody goes on from here."""
        loop = self.loops[-1] if self.loops else None
        if loop is None and not isinstance(s, Return):
            raise BadKernel(f"{type(s).__name__.lower()} outside of a loop")

        def run(simt: SimtGroup, mask: Mask) -> Going:
            if isinstance(s, Return):
                simt.exited = simt.exited | mask
            elif isinstance(s, Continue) and loop is not None:
                simt.continued[loop] = simt.continued[loop] | mask
            return None

        return run

    def branch(self, s: If) -> Callable[[SimtGroup, Mask], Waiting]:
        """Both sides, each under its mask; they take turns when they wait."""
        condition, then, otherwise = self.expr(s.condition), self.body(s.then), None
        if s.otherwise:
            otherwise = self.body(s.otherwise)
        site = self.site(s)

        def run(simt: SimtGroup, mask: Mask) -> Waiting:
            simt.site = site
            chosen = condition(simt, mask)
            if not varies(chosen):
                side = then if chosen else otherwise
                return mask if side is None else (yield from side(simt, mask))
            yes, no = mask & chosen, mask & ~chosen
            if not some(no):
                return (yield from then(simt, mask))
            if not some(yes):
                return mask if otherwise is None else (yield from otherwise(simt, mask))
            sides = [then(simt, yes)]
            if otherwise is not None:
                sides.append(otherwise(simt, no))
            ends = yield from together(sides)
            if otherwise is None:
                ends.append(no)
            return union(ends, mask)

        return run

    def counted(self, s: For) -> Callable[[SimtGroup, Mask], Waiting]:
        """A loop over 0, 1, ..."""
        extent, of, site = self.expr(s.extent), s.var.dtype.numpy.type, self.site(s)
        body = self.looped(s, s.body)

        def run(simt: SimtGroup, mask: Mask) -> Waiting:
            simt.site = site
            limit = extent(simt, mask)
            vary = varies(limit)
            last = int(np.where(mask, limit, 0).max()) if vary else int(limit)
            turning = mask
            for iteration in range(last):
                simt.step(turning, site)
                live = narrowed(turning, iteration < limit) if vary else turning
                if live is None:
                    break
                simt.env[s.var] = of(iteration)
                going = yield from body(simt, live)
                if going is None:
                    break
                turning = going
            return remaining(simt, mask)

        return run

    def repeated(self, s: While) -> Callable[[SimtGroup, Mask], Waiting]:
        """A loop as long as a condition holds; between iterations the other threads may run."""
        condition, body, site = self.expr(s.condition), self.looped(s, s.body), self.site(s)
        looks = any(isinstance(each, Load | Get | Invoke) for each in postorder(s))

        def run(simt: SimtGroup, mask: Mask) -> Waiting:
            turning: Going = mask
            spin = Spin(simt, site, looks)
            while turning is not None:
                simt.site = site
                simt.step(turning, site)
                turning = narrowed(turning, condition(simt, turning))
                if turning is None:
                    break
                turning = yield from body(simt, turning)
                if turning is not None:
                    spin.turned(turning)
                yield
            spin.end()
            return remaining(simt, mask)

        return run

    def looped(self, loop: Stmt, stmts: Body) -> Callable[[SimtGroup, Mask], Waiting]:
        """One iteration of a loop: those that fell through or continued go on."""
        self.loops.append(loop)
        inner = self.body(stmts)
        self.loops.pop()

        def run(simt: SimtGroup, mask: Mask) -> Waiting:
            simt.continued[loop] = np.zeros(simt.count, np.bool_)
            through = yield from inner(simt, mask)
            again = simt.continued[loop]
            return union([through, again], mask) if some(again) else through

        return run

    def tasks(self, s: ForTasks) -> Callable[[SimtGroup, Mask], Waiting]:
        """A loop over a worker's tasks: one plain loop, its number split into the mapping's own."""
        worker, iteration = Var("worker", i32), Var("iteration", i32)
        extents, index = s.mapping.loops(worker)
        numbers: list[Expr] = []
        inner = prod(extents)
        for extent in extents:
            inner //= extent
            numbers.append(FloorMod(FloorDiv(iteration, Const(inner, i32)), Const(extent, i32)))
        task = tuple(wrap(i) for i in index(tuple(numbers)))
        body: Body = (
            *(Declare(v, value, s.place) for v, value in zip(s.vars, task, strict=True)),
            *guarded(s.mapping.inside(s.vars), s.body, s.place),
        )
        loop = For(iteration, Const(prod(extents), i32), body, LoopKind.SERIAL, s.place)
        whole = guarded(s.mapping.active(worker), (loop,), s.place)
        return self.body((Declare(worker, s.worker, s.place), *whole))

    def fork(self, s: For) -> Callable[[SimtGroup, Mask], Waiting]:
        """Independent iterations of a CPU loop, run as a SIMT group of their own."""
        extent, body, site = self.expr(s.extent), self.body(s.body), self.site(s)
        parallel = s.kind is LoopKind.PARALLEL

        def run(simt: SimtGroup, mask: Mask) -> Waiting:
            simt.site = site
            for inner, live in forked(simt, s.var, extent(simt, mask), mask, parallel):
                yield from body(inner, live)
                joined(simt, inner)
            return mask

        return run

    def invoke(self, s: Invoke) -> Step:
        """An intrinsic; it may wait."""
        intrinsic = INTRINSICS.get(s.name)
        if intrinsic is None:
            raise BadKernel(f"there is no intrinsic {s.name!r}", place=s.place)
        intrinsic.check(s)
        site, simulate, name = self.site(s), intrinsic.simulate, s.name
        codes: dict[Expr, Code] = {arg: self.expr(arg) for arg in s.args}

        def run(simt: SimtGroup, mask: Mask) -> Waiting:
            simt.site = site
            simt.count_up(name, mask)
            pending = simulate(Call(simt, mask, codes), s)
            if pending is not None:
                for _ in pending:
                    yield
                    simt.site = site
            return mask

        return Step(run, waits=True)


def guarded(condition: Any, body: Body, place: Any) -> Body:
    """`body` where the condition of a mapping holds; None always holds."""
    return body if condition is None else (If(wrap(condition), body, (), place),)
