"""What follows an anchor, computed where its result is written, and written instead of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from hidet.compute import Computed, Grid
from hidet.errors import InternalError
from hidet.fusion.common import in_common
from hidet.fusion.moves import Landing
from hidet.ir.expr import (
    Add,
    And,
    Cast,
    Const,
    Equal,
    Expr,
    Get,
    Less,
    LessEqual,
    Var,
    constant,
    convert,
    wrap,
)
from hidet.ir.node import Node
from hidet.ir.stmt import Body, If, Put, Stmt
from hidet.ir.walk import substitute
from hidet.schedules.automatic.expand import Expansion
from hidet.types import Size, i32

Known = Callable[[Expr], Expr]
"""Puts the written elements of the anchor's result in the place of what reads them."""


@dataclass(frozen=True, eq=False)
class Result:
    """What a group writes: the variable, how its elements are computed, and where those of the
    anchor's result go in it."""

    out: Var
    grid: Grid
    landing: Landing


class Epilogue:
    """A write of the anchor's result that computes what follows and writes that instead.

    before   y.put(i, j, total)
    after    value = total + x.get(i, j);  y0.put(i, j, value);  y1.put(i, j, max(value, 0))

    What follows reads `value`, which stands for the anchor's result: in float32 where nobody needs
    it rounded.
    """

    def __init__(self, value: Var, results: Sequence[Result], read: Expansion) -> None:
        self.value, self.results, self.read = value, results, read
        self.neighbours = results[0].landing.neighbours

    def instead(self, hook: Node) -> Node | Body:
        """What becomes of a hook on the anchor's result."""
        if not isinstance(hook, Put):
            raise InternalError(f"nothing follows that could take the place of {hook}")
        return self.put(hook)

    def put(self, write: Put) -> Put | Body:
        """What `put(index, value)` becomes; one of several waits for the loop that has them."""
        if self.neighbours > 1:
            return write
        written = self.before_rounding(write.value)
        return self.written(write, write.index, lambda e: self.replaced(e, lambda _: written))

    def put_group(self, write: Put, values: Sequence[Expr]) -> Body:
        """What becomes of the write of neighbours, given that of the first and all values."""
        index = (*write.index[:-1], write.index[-1] // self.neighbours)

        def known(e: Expr) -> Expr:
            """The value with what it reads of the result in place: which one, its index says."""
            return self.replaced(e, lambda read: values[place_of(read.index[-1])])

        return self.written(write, index, known)

    def before_rounding(self, value: Expr) -> Expr:
        """What is written, as what follows reads it: before its rounding, if that is the type."""
        match value:
            case Cast(wide) if wide.type is self.value.dtype:
                return wide
        return value

    def written(self, write: Put, at: tuple[Expr, ...], known: Known) -> Body:
        """The writes of the elements that land where the element `at` of the anchor's result goes.

        What several of them are made of is computed once, and nothing of it outside of the shape:
        so all that they read is read under the conditions of one write.
        """
        values = [self.element(each, at, known) for each in self.results]
        if len(values) == 1:
            return (stored(self.results[0], at, values[0], write),)
        before, values = in_common(values)
        puts = [stored(each, at, e, write) for each, e in zip(self.results, values, strict=True)]
        first = self.results[0]
        asked = [*outside(first, at), *inside(landed(first, at), first.grid.shape)]
        return (If(reduce(And, asked), (*before, *puts), (), write.place),)

    def element(self, result: Result, at: tuple[Expr, ...], known: Known) -> Expr:
        """The element of one result that is made of the element `at`."""
        if not isinstance(result.grid, Computed):
            return known(Get(self.value, at))
        index = dict(zip(result.grid.vars, landed(result, at), strict=True))
        whole = substitute(known(self.read.of(result.grid)), index)
        return convert(whole, result.out.dtype)

    def replaced(self, e: Expr, by: Callable[[Get], Expr]) -> Expr:
        """An expression with every read of the anchor's result replaced."""
        done: dict[Expr, Expr] = {}

        def visit(e: Expr) -> Expr:
            if e not in done:
                own = isinstance(e, Get) and e.tensor is self.value
                done[e] = convert(by(e), self.value.dtype) if own else e.map_children(visit)  # type: ignore[arg-type]
            return done[e]

        return visit(e)


def landed(result: Result, at: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Where in a result the element `at` of the anchor's result goes."""
    zero = Const(0, i32)
    return tuple(zero if axis is None else at[axis] for axis in result.landing.axes)


def stored(result: Result, at: tuple[Expr, ...], value: Expr, write: Put) -> Stmt:
    """The write of one element.

    One outside of an axis of size 1 that the result lacks has to be dropped still.
    """
    made = Put(result.out, landed(result, at), value, write.place)
    asked = outside(result, at)
    return If(reduce(And, asked), (made,), (), write.place) if asked else made


def outside(result: Result, at: tuple[Expr, ...]) -> list[Expr]:
    """What has to hold of the axes that a result lacks."""
    gone = [e for axis, e in enumerate(at) if axis not in result.landing.axes]
    return [Equal(e, constant(0, e.dtype)) for e in gone if not is_zero(e)]


def inside(index: Sequence[Expr], shape: Sequence[Size]) -> list[Expr]:
    """What has to hold of each axis of an index within a shape."""
    pairs = [(convert(e, i32), wrap(size)) for e, size in zip(index, shape, strict=True)]
    return [And(LessEqual(Const(0, i32), e), Less(e, size)) for e, size in pairs]


def place_of(e: Expr) -> int:
    """Which one of its neighbours an index j * count + place means."""
    match e:
        case Add(_, Const(place)):
            return int(place)
    return 0


def is_zero(e: Expr) -> bool:
    """Whether it is the constant 0."""
    return isinstance(e, Const) and e.value == 0
