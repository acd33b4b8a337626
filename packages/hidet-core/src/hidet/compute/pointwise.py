"""Functions of elements that take grids, giving a grid, as well as expressions, giving one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, overload

from hidet.compute.grid import Grid, Operand, elementwise
from hidet.ir.expr import Expr, Maximum, Minimum, Value, combine, wrap
from hidet.ir.functions import call


class OfOne(Protocol):
    """A function of one operand."""

    @overload
    def __call__(self, a: Grid, /) -> Grid: ...
    @overload
    def __call__(self, a: Value, /) -> Expr: ...


class OfTwo(Protocol):
    """A function of two operands."""

    @overload
    def __call__(self, a: Grid, b: Operand, /) -> Grid: ...
    @overload
    def __call__(self, a: Value, b: Grid, /) -> Grid: ...
    @overload
    def __call__(self, a: Value, b: Value, /) -> Expr: ...


def pointwise(fn: Callable[..., Value], *operands: Operand) -> Any:
    """`fn` on grids element by element, on expressions directly."""
    if any(isinstance(each, Grid) for each in operands):
        return elementwise(fn, *operands)
    return wrap(fn(*operands))


def of_one(name: str) -> OfOne:
    """The function `name` of `hidet.ir.functions`."""

    def apply(a: Operand) -> Any:
        return pointwise(lambda x: call(name, x), a)

    return apply


def of_two(name: str) -> OfTwo:
    """The function `name` of `hidet.ir.functions`."""

    def apply(a: Operand, b: Operand) -> Any:
        return pointwise(lambda x, y: call(name, x, y), a, b)

    return apply


def _least(a: Operand, b: Operand) -> Any:
    return pointwise(lambda x, y: combine(Minimum, x, y), a, b)


def _greatest(a: Operand, b: Operand) -> Any:
    return pointwise(lambda x, y: combine(Maximum, x, y), a, b)


minimum: OfTwo = _least
"""The smaller of each pair; NaN if either is."""
maximum: OfTwo = _greatest
"""The larger of each pair; NaN if either is."""
