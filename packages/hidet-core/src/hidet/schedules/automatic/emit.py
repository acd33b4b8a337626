"""What automatic kernels share: index arithmetic, accumulators, values in statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hidet.compute import ArgReduce, Reduce
from hidet.compute.places import ravel
from hidet.compute.reduction import identity
from hidet.ir.expr import (
    And,
    Expr,
    Maximum,
    Minimum,
    NotEqual,
    Or,
    Var,
    combine,
    constant,
    convert,
    wrap,
)
from hidet.ir.stmt import Assign, Body, Declare, For, If, LoopKind, Put, Stmt
from hidet.ir.walk import find, replaced, substitute, variables
from hidet.schedules.automatic.plan import MapStage, reductions
from hidet.types import Size, i32, i64

AnyReduce = Reduce | ArgReduce
COMBINE = {"min": Minimum, "max": Maximum, "any": Or, "all": And}


def ceil_div(a: Size, b: int) -> Size:
    """a / b rounded up."""
    return (a + (b - 1)) // b


class Accumulator:
    """A reduction in the making: its variables, how a value enters, how two of them merge."""

    def __init__(self, reduce: AnyReduce, suffix: str = "") -> None:
        self.reduce = reduce
        self.value = Var("total" + suffix, reduce.value.dtype)
        self.position = Var("where" + suffix, i64)

    @property
    def variables(self) -> list[Var]:
        """What it keeps: the value so far and, for arg reductions, where it was."""
        return [self.value, self.position] if self.positional else [self.value]

    @property
    def positional(self) -> bool:
        """Whether it looks for a position."""
        return isinstance(self.reduce, ArgReduce)

    @property
    def result(self) -> Var:
        """The variable with the result."""
        return self.position if self.positional else self.value

    def start(self) -> Body:
        """Declare its variables: the identity, no position."""
        first = Declare(self.value, identity(self.reduce.how, self.reduce.value.dtype))
        return (first, Declare(self.position, constant(-1, i64))) if self.positional else (first,)

    def take(self, value: Expr, position: Expr) -> Body:
        """Let one more value in; `position` is its row-major place."""
        return self.merge([value, convert(position, i64)])

    def merge(self, other: Sequence[Expr]) -> Body:
        """Let what another accumulator kept in."""
        if not self.positional:
            return (Assign(self.value, joined(self.reduce.how, self.value, other[0])),)
        value, position = other
        candidate = Var("candidate", value.dtype)
        wins = better(self.reduce.how, candidate, self.value)
        ties = ~wins & ~better(self.reduce.how, self.value, candidate)
        earlier = ties & (position < self.position)
        replace = (position >= 0) & ((self.position < 0) | wins | earlier)
        take = (Assign(self.value, candidate), Assign(self.position, position))
        return Declare(candidate, value), If(replace, take)


def joined(how: str, a: Expr, b: Expr) -> Expr:
    """Two values combined."""
    if how == "sum":
        return a + b
    return a * b if how == "prod" else combine(COMBINE[how], a, b)


def better(how: str, a: Expr, b: Expr) -> Expr:
    """Whether `a` beats `b`: NaN beats numbers."""
    beats = a > b if how == "max" else a < b
    return beats | (NotEqual(a, a) & b.eq(b)) if a.dtype.is_float else beats


def with_serial_reductions(value: Expr, known: Mapping[Expr, Expr]) -> tuple[Body, Expr]:
    """`value` as statements and an expression: each reduction left in it becomes a serial loop."""
    value = replaced(value, known)
    outermost = [each for each in reductions(value) if not nested(each, value)]
    before: list[Stmt] = []
    results: dict[Expr, Expr] = {}
    for reduce in outermost:
        accumulator = Accumulator(reduce)
        names = tuple(Var(var.name, i32) for var in reduce.vars)
        inner = substitute(reduce.value, dict(zip(reduce.vars, names, strict=True)))
        steps, element = with_serial_reductions(inner, {})
        body: Body = steps + accumulator.take(element, ravel(names, reduce.extents))
        for var, extent in zip(reversed(names), reversed(reduce.extents), strict=True):
            body = (For(var, wrap(extent), body),)
        before += [*accumulator.start(), *body]
        results[reduce] = accumulator.result
    return tuple(before), replaced(value, results)


def nested(reduce: AnyReduce, value: Expr) -> bool:
    """Whether `reduce` lies inside another reduction of `value`."""
    return any(
        reduce is not other and reduce in find(other.value, type(reduce))
        for other in reductions(value)
    )


def put(stage: MapStage, index: Mapping[Var, Expr], known: Mapping[Expr, Expr]) -> Body:
    """Write the stage's elements at `index`, with `known` reductions in place."""
    body: list[Stmt] = []
    for out, value in ((stage.out, stage.value), *stage.also):
        before, element = with_serial_reductions(value, known)
        write = Put(out, stage.index, convert(element, out.dtype))
        body += [substitute(s, dict(index)) for s in (*before, write)]
    return tuple(body)


def row_level(stage: MapStage) -> list[AnyReduce]:
    """The reductions that depend on the stage's own index only, inner ones first."""
    found = list(reductions(stage.value))
    bound = {var for each in found for var in each.vars}
    return [each for each in found if not free(each) & bound]


def free(reduce: AnyReduce) -> set[Var]:
    """The variables a reduction depends on, without those it runs over."""
    inside = {var for each in reductions(reduce) for var in each.vars}
    return set(variables(reduce)) - inside


def unrolled(var: Var, count: int, body: Body) -> Body:
    """A loop of `count` iterations, unrolled."""
    return (For(var, constant(count, i32), body, LoopKind.UNROLL),)


def vectorized(lane: Var, lanes: int, body: Body) -> Body:
    """`body` for neighbours in memory, in vectors."""
    return (For(lane, constant(lanes, i32), body, LoopKind.VECTOR),)
