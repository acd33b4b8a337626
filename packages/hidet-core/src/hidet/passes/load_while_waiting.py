"""Loads of operands are under way while the blocks of a cluster wait for each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from hidet.ir.access import read_only
from hidet.ir.expr import And, Expr, Load, Not, Select, Splat, Var, constant
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Body, Declare, For, If, Invoke, Stmt, While
from hidet.ir.walk import contains, find, introduced, replaced, substitute
from hidet.passes.base import kernel_pass, with_body
from hidet.passes.lanes import Path, reads
from hidet.passes.load_ahead import IN_FLIGHT
from hidet.passes.scopes import assigned

WAIT = "cluster_wait"


@kernel_pass()
def load_while_waiting(kernel: Kernel) -> Kernel:
    """Let a thread load operands for what it does behind a meeting of a cluster ahead of the wait.

    before   cluster_arrive();  cluster_wait();  if c:  t = there[0] + there[1];  y[i] = t + x[i]
    after    cluster_arrive();  a = x[i] if c else 0;  cluster_wait();  if c:  ...  y[i] = t + a

    No compiler moves a load across a barrier. Operands are what the kernel only loads. Where there
    is a loop behind the meeting, it has loads of its own under way.
    """
    waits = [i for i, s in enumerate(kernel.body) if is_wait(s)]
    if not waits or not (operands := read_only(kernel)):
        return kernel
    changed, body = assigned(kernel), list(kernel.body)
    for start, end in zip(reversed(waits), reversed([*waits[1:], len(body)]), strict=True):
        behind = tuple(body[start + 1 : end])
        if not any(isinstance(s, For | While) for s in find(behind, Stmt)):
            ahead = Ahead(operands, changed, frozenset(introduced(behind)))
            rest = ahead.body(behind, ())
            body[start:end] = [*ahead.front, body[start], *rest]
    return with_body(kernel, tuple(body))


def is_wait(s: Stmt) -> bool:
    """Whether threads wait here for the other blocks of their cluster."""
    return isinstance(s, Invoke) and s.name == WAIT


class Ahead:
    """What goes ahead of a wait: loads of `operands`, at places that are known there."""

    def __init__(
        self, operands: set[Var], changed: frozenset[Var], introduced: frozenset[Var]
    ) -> None:
        self.operands, self.changed, self.late = operands, changed, changed | introduced
        self.front: list[Stmt] = []
        self.given: dict[Var, Expr] = {}
        """Names that are made of what is known before the wait."""
        self.known: dict[tuple[Expr, ...], Var] = {}
        self.nbytes = 0

    def body(self, body: Sequence[Stmt], path: Path) -> Body:
        """Statements, reached under some conditions, with the values of what was loaded ahead."""
        return tuple(self.statement(s, path) for s in body)

    def statement(self, s: Stmt, path: Path) -> Stmt:
        """The same for one statement."""
        if isinstance(s, If):
            if not self.early(s.condition):
                return s
            then = self.body(s.then, (*path, (s.condition, True)))
            otherwise = self.body(s.otherwise, (*path, (s.condition, False)))
            return If(s.condition, then, otherwise, s.place)
        if isinstance(s, Declare) and self.names(s):
            self.given[s.var] = substitute(s.init, self.given)  # type: ignore[type-var]
            return s
        values = [e for e in s.children() if isinstance(e, Expr)]
        known = self.loaded(
            [e for e in values if not self.operands.isdisjoint(e.mentioned())], path
        )
        return replaced(s, known) if known else s

    def names(self, s: Declare) -> bool:
        """Whether a variable is another name for what is known before the wait."""
        return s.var not in self.changed and s.init is not None and self.early(s.init)

    def early(self, e: Expr) -> bool:
        """Whether a value is known before the wait: made of neither loads nor what comes later."""
        late = self.late - self.given.keys()
        return not contains([e], Load) and late.isdisjoint(e.mentioned())

    def loaded(self, values: Sequence[Expr], path: Path) -> Mapping[Expr, Expr]:
        """The loads of operands in some values that go ahead, and what holds what they load."""
        ways: dict[Load, set[Path]] = {}
        for e in values:
            for load, way in reads(e, path):
                if load.tensor in self.operands:
                    ways.setdefault(load, set()).add(way)
        known: dict[Expr, Expr] = {}
        for load, (way, *others) in ways.items():
            asked = (c for c, _ in way)
            if not others and all(map(self.early, (*load.index, *asked))):
                held = self.held(load, way)
                if held is not None:
                    known[load] = held
        return known

    def held(self, load: Load, path: Path) -> Var | None:
        """The variable for what is loaded under some conditions; None if there is no room."""
        conditions = [c if holds else Not(c) for c, holds in path]
        what, *asked = (substitute(e, self.given) for e in (load, *conditions))
        key = (what, *asked)
        nbytes = max(4, load.lanes * load.dtype.nbytes)
        if key not in self.known and self.nbytes + nbytes <= IN_FLIGHT:
            self.nbytes += nbytes
            assert isinstance(load.tensor, Var)
            self.known[key] = Var(f"{load.tensor.name}_ahead", load.type)
            value: Expr = what
            if asked:
                zero = constant(0, load.dtype)
                none = zero if load.lanes == 1 else Splat(zero, load.lanes)
                value = Select(reduce(And, asked), what, none)
            self.front.append(Declare(self.known[key], value))
        return self.known.get(key)
