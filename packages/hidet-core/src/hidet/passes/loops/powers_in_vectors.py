"""Vector loops that compute powers are written in vectors, which look steps of them up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from hidet.ir.expr import (
    Add,
    Binary,
    Cast,
    Comparison,
    Const,
    Div,
    Expr,
    Load,
    Math,
    Maximum,
    Minimum,
    Mul,
    Negate,
    Select,
    Splat,
    Sub,
    Var,
    constant,
)
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Assign, Body, Declare, For, Stmt, Store
from hidet.ir.walk import find, substitute
from hidet.passes.base import Pass
from hidet.passes.loops.fresh import copied
from hidet.passes.loops.vector_loops import is_next, remaining, with_vector_loops
from hidet.types import VectorType, bf16, f16, f32, i32

POWERS = ("exp", "exp_nonpositive", "erf", "tanh")
"""Functions that are made of one."""
LANEWISE = (Add, Sub, Mul, Div, Minimum, Maximum, Comparison)
MOST = 8
"""Vectors that are written one after the other, as accumulators in registers have to be; of more a
loop is made."""


def powers_in_vectors(lanes: int) -> Pass:
    """Write vector loops that compute powers of float32 in vectors of `lanes` elements.

    before   for i in vectorize(40):  y[j + i] = exp(x[j + i] - m)
    after    y[j : j + 16] = exp(x[j : j + 16] - <m>)
             y[j + 16 : j + 32] = exp(x[j + 16 : j + 32] - <m>)
             for i in vectorize(8):  y[j + 32 + i] = exp(x[j + 32 + i] - m)

    Only what is written so can look steps of powers up in vectors
    (`codegen/cpu/vector_powers.py`). Loops of anything else stay for the C++ compiler.
    """
    made = Pass("powers_in_vectors", partial(written_so, lanes=lanes))
    object.__setattr__(made, "__doc__", powers_in_vectors.__doc__)
    return made


def written_so(kernel: Kernel, lanes: int) -> Kernel:
    """The kernel with such loops in vectors."""
    return with_vector_loops(kernel, lambda loop: in_vectors(loop, lanes))


def in_vectors(loop: For, lanes: int) -> Any:
    """The loop in vectors, if it computes powers and nothing that is in the way."""
    powers = any(e.name in POWERS and e.of is f32 for e in find(loop.body, Math))
    if not powers or any(True for _ in find(loop.body, Assign)):
        return loop
    body = Iterations(loop.var, lanes).statements(loop.body)
    known = int(loop.extent.value) if isinstance(loop.extent, Const) else None
    if body is None or (known is not None and known < lanes):
        return loop
    if known is not None:
        whole, rest = (constant(each, i32) for each in divmod(known, lanes))
        ends = [remaining(loop, whole * lanes, rest)] if known % lanes else []
        return (*vectors(loop.var, body, whole, lanes), *ends)
    count = Maximum(loop.extent, constant(0, i32)) // lanes
    end = remaining(loop, count * lanes, loop.extent - count * lanes)
    return (*vectors(loop.var, body, count, lanes), end)


def vectors(first: Var, body: Body, count: Expr, lanes: int) -> Body:
    """So many vectors, of each of which `body` has the first element at `first`."""
    if isinstance(count, Const) and count.value <= MOST:
        starts = [constant(iteration * lanes, first.dtype) for iteration in range(int(count.value))]
        return tuple(s for start in starts for s in copied(body, {first: start}))
    iteration = Var("vector", first.of)
    return (For(iteration, count, copied(body, {first: iteration * lanes})),)


@dataclass
class Iterations:
    """The iterations of a loop over `var` as lanes: what its variables are in a vector from `var`
    on."""

    var: Var
    lanes: int
    places: dict[Var, Expr] = field(default_factory=dict)
    """Integers of an iteration, by the number of the iteration."""
    values: dict[Var, Var] = field(default_factory=dict)

    def statements(self, body: Body) -> Body | None:
        """The statements of a vector; None if they are no arithmetic on vectors of float32."""
        made: list[Stmt] = []
        for each in body:
            found = self.statement(each)
            if found is None:
                return None
            made += found
        return tuple(made)

    def statement(self, s: Stmt) -> Body | None:
        """One of them."""
        match s:
            case Declare(var, Expr() as init) if var.of is i32:
                self.places[var] = substitute(init, self.places)
                return ()
            case Declare(var, Expr() as init, place) if var.of is f32:
                value = self.vector(init)
                if value is None:
                    return None
                self.values[var] = Var(var.name, VectorType(f32, self.lanes))
                return (Declare(self.values[var], value, place),)
            case Store(tensor, (index,), value, place) if tensor.dtype is value.type is f32:
                at, made = substitute(index, self.places), self.vector(value)
                if made is not None and is_next(at, self.var) and self.is_same(tensor):
                    return (Store(tensor, (at,), made, place),)
        return None

    def vector(self, e: Expr) -> Expr | None:
        """What an expression is in all lanes; None if it is no arithmetic on float32."""
        if self.is_same(e):
            return Splat(e, self.lanes) if e.type is f32 else None
        match e:
            case Var():
                return self.values.get(e)
            case Load() if e.dtype is f32:
                return self.loaded(e)
            case Cast(Load() as load, to) if to is f32 and load.dtype in (f16, bf16):
                narrow = self.loaded(load)
                return None if narrow is None else Cast(narrow, f32)
            case Select(condition, then, otherwise) if self.is_same(condition):
                return self.rebuilt(e, (then, otherwise))
            case Select(condition, then, otherwise):
                return self.rebuilt(e, (condition, then, otherwise))
            case Math(name, args) if name in POWERS:
                return self.rebuilt(e, args)
            case Binary(a, b) if isinstance(e, LANEWISE):
                return self.rebuilt(e, (a, b))
            case Negate(a):
                return self.rebuilt(e, (a,))
        return None

    def loaded(self, load: Load) -> Expr | None:
        """What neighbours are read in all lanes; None if they are none."""
        *_, last = load.index
        at = substitute(last, self.places)
        if len(load.index) > 1 or load.lanes > 1 or not is_next(at, self.var):
            return None
        return Load(load.tensor, (at,), self.lanes) if self.is_same(load.tensor) else None

    def rebuilt(self, e: Expr, operands: Iterable[Expr]) -> Expr | None:
        """An expression of vectors instead of these operands."""
        made: dict[Any, Expr] = {}
        for each in operands:
            found = self.vector(each)
            if found is None:
                return None
            made[each] = found
        vector: Expr = e.map_children(lambda child: made.get(child, child))
        return vector

    def is_same(self, e: Expr) -> bool:
        """Whether an expression is the same in all iterations."""
        own = {self.var, *self.places, *self.values}
        return own.isdisjoint(e.mentioned())
