"""How operators act on elements that are numbers, symbolic sizes, or not known (None)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from hidet.compute.sizes import below, equal
from hidet.graph import OPERATORS, Op
from hidet.graph.known import Elements, boxed, knows
from hidet.ir.expr import Cast as CastTo
from hidet.ir.expr import Expr, constant
from hidet.ops.elementwise.select import Clamp, Where
from hidet.ops.indexing.index import Gather, Take
from hidet.ops.reductions.reduce import All, Any_, Max, Min, Prod, Reduction, Sum
from hidet.ops.tensors.cast import Cast
from hidet.ops.tensors.create import SizeValue
from hidet.ops.tensors.joining import Concat, Tile
from hidet.ops.tensors.shape import Expand, Permute, Reshape
from hidet.ops.tensors.slicing import Roll, Slice, SliceScatter, largest, smallest
from hidet.types import f32, i32

Function = Callable[..., Any]


@knows(SizeValue)
def size_value(op: SizeValue, given: list[Elements]) -> Any:
    """The size."""
    return op.value


@knows(Concat)
def concat(op: Concat, given: list[Elements]) -> Elements:
    """Its reference takes a list."""
    return np.concatenate(given, op.axis)


@knows(Reshape, Permute, Expand, Slice, Tile, Roll, SliceScatter)
def moved(op: Op, given: list[Elements]) -> Any:
    """What only moves elements does so with any: the reference moves objects too."""
    return op.reference(*given)


@knows(Take, Gather)
def taken(op: Op, given: list[Elements]) -> Any:
    """Elements at positions that are plain numbers."""
    x, *indices = given
    if any(not isinstance(each, int) for index in indices for each in index.flat):
        return None
    return op.reference(*op.arrange([x, *(index.astype(np.int64) for index in indices)]))


@knows(Cast)
def cast(op: Cast, given: list[Elements]) -> Any:
    """Floats toward zero; a size becomes a float, and a scaled size one again, in float32."""

    def element(value: Any) -> Any:
        if isinstance(value, CastTo) and op.dtype.is_integer and value.value.dtype.is_integer:
            return value.value
        if isinstance(value, float) and op.dtype.is_integer and np.isfinite(value):
            return int(value)
        if isinstance(value, Expr) and op.dtype is f32:
            return value.cast(f32)
        if isinstance(value, Expr) and value.dtype is f32 and op.dtype.is_integer:
            return value.cast(i32)
        return value

    return each(certain(element))(given[0])


@knows(Where)
def where(op: Where, given: list[Elements]) -> Any:
    """What the condition picks; where it is not known, what both sides agree in."""

    def element(condition: Any, x: Any, y: Any) -> Any:
        if condition is None:
            return x if agree(x, y) else None
        return x if condition else y

    return each(element)(*given)


@knows(Clamp)
def clamp(op: Clamp, given: list[Elements]) -> Any:
    """At least `low`, then at most `high`."""

    def element(value: Any) -> Any:
        value = value if op.low is None else larger(value, op.low)
        return value if op.high is None else smaller(value, op.high)

    return each(certain(element))(given[0])


@knows(Sum, Prod, Max, Min, Any_, All)
def reduced(op: Reduction, given: list[Elements]) -> Elements:
    """Elements combined one by one; of none there is what the reduction begins with."""
    (x,) = given
    function = each(COMBINED[op.how])
    rows = np.moveaxis(x, op.axes, range(len(op.axes)))
    rest = rows.shape[len(op.axes) :]
    start: list[Elements] = [np.full(rest, START[op.how], object)] if op.how in START else []
    found = reduce(function, [*start, *rows.reshape(-1, *rest)])
    return np.asarray(found, object).reshape(op.results()[0].shape)


# ---- functions of elements -----------------------------------------------------------------------


def each(function: Function) -> Function:
    """The function of every element; it gets None for one that is not known."""

    def whole(*arrays: Elements) -> Elements:
        found = np.frompyfunc(function, len(arrays), 1)(*arrays)
        return found if isinstance(found, np.ndarray) else boxed(found)

    return whole


def certain(function: Function) -> Function:
    """The function of what is known, None of what is not."""
    return lambda *values: None if any(value is None for value in values) else function(*values)


def divided(divide: Function) -> Function:
    """A division; of sizes by one that cannot be negative."""

    def element(x: Any, y: Any) -> Any:
        return None if isinstance(y, Expr) and below(y, 0) is not False else divide(x, y)

    return of_sizes(element)


def of_sizes(function: Function) -> Function:
    """The function of plain numbers, or of sizes; None of scaled sizes."""

    def element(*values: Any) -> Any:
        symbolic = any(isinstance(value, Expr) for value in values)
        return None if symbolic and not all(map(is_integer, values)) else function(*values)

    return certain(element)


def is_integer(value: Any) -> bool:
    """Whether an element is an integer or a size."""
    return value.dtype.is_integer if isinstance(value, Expr) else isinstance(value, int)


def agree(x: Any, y: Any) -> bool:
    """Whether two elements are one and the same for certain."""
    if is_integer(x) and is_integer(y):
        return equal(x, y) is True
    return x is not None and not isinstance(x, Expr) and not isinstance(y, Expr) and bool(x == y)


def larger(x: Any, y: Any) -> Any:
    """The larger one; NaN if either is."""
    if isinstance(x, Expr) or isinstance(y, Expr):
        return largest(x, y)
    return x if x != x else max(y, x)


def smaller(x: Any, y: Any) -> Any:
    """The smaller one; NaN if either is."""
    if isinstance(x, Expr) or isinstance(y, Expr):
        return smallest(x, y)
    return x if x != x else min(y, x)


def times(x: Any, y: Any) -> Any:
    """x * y; also of a size as float32 and a number, which is as exact as float32 is."""
    for size, factor in ((x, y), (y, x)):
        if isinstance(size, CastTo) and size.dtype is f32 and isinstance(factor, float):
            return size * constant(factor, f32) if size.value.dtype.is_integer else None
    return of_sizes(operator.mul)(x, y)


def toward_zero(x: Any, y: Any) -> Any:
    """x / y without its fraction; of sizes only where neither can be negative."""
    if isinstance(x, Expr) or isinstance(y, Expr):
        return x // y if below(x, 0) is False and below(y, 0) is False else None
    if isinstance(x, float):
        return float(math.trunc(x / y))
    whole = abs(x) // abs(y)
    return whole if (x < 0) == (y < 0) else -whole


def left_over(x: Any, y: Any) -> Any:
    """What `toward_zero` leaves."""
    whole = toward_zero(x, y)
    return None if whole is None else x - whole * y


def rounded_down(x: Any) -> Any:
    """The largest whole number that is not above; scaled sizes are never negative."""
    if isinstance(x, Expr):
        return x.cast(i32).cast(f32)
    return float(math.floor(x)) if math.isfinite(x) else x


def unsigned(x: Any) -> Any:
    """The size of a number without its sign."""
    return abs(x) if not isinstance(x, Expr) else x if below(x, 0) is False else None


def either(x: Any, y: Any) -> Any:
    """Whether one of two truths holds, which one that does decides."""
    return True if truth(x) or truth(y) else None if truth(x) is None or truth(y) is None else False


def both(x: Any, y: Any) -> Any:
    """Whether two truths hold."""
    return opposite(either(opposite(x), opposite(y)))


def opposite(x: Any) -> Any:
    """Whether a truth does not hold."""
    return None if truth(x) is None else not truth(x)


def truth(x: Any) -> Any:
    """Whether an element is not zero, as far as that is known."""
    if isinstance(x, Expr):
        return differs(x, 0)
    return None if x is None else bool(x)


def differs(x: Any, y: Any) -> Any:
    """Whether two elements differ."""
    return opposite(alike(x, y))


def compared(plain: Function, sizes: Function) -> Function:
    """Whether a comparison holds, as far as that is known."""

    def element(x: Any, y: Any) -> Any:
        return sizes(x, y) if isinstance(x, Expr) or isinstance(y, Expr) else plain(x, y)

    return of_sizes(element)


alike = compared(operator.eq, equal)


COMBINED: dict[str, Function] = {
    "sum": of_sizes(operator.add), "prod": of_sizes(operator.mul), "max": of_sizes(larger),
    "min": of_sizes(smaller), "any": either, "all": both,
}  # fmt: skip
START = {"sum": 0, "prod": 1, "any": False, "all": True}
FUNCTIONS: dict[str, Function] = {
    "add": of_sizes(operator.add),
    "subtract": of_sizes(operator.sub),
    "multiply": certain(times),
    "floor_divide": divided(operator.floordiv),
    "trunc_divide": divided(toward_zero),
    "remainder": divided(operator.mod),
    "fmod": divided(left_over),
    "maximum": of_sizes(larger),
    "minimum": of_sizes(smaller),
    "negative": of_sizes(operator.neg),
    "absolute": of_sizes(unsigned),
    "floor": certain(rounded_down),
    "equal": alike,
    "not_equal": differs,
    "less": compared(operator.lt, below),
    "greater": compared(operator.gt, lambda x, y: below(y, x)),
    "less_equal": compared(operator.le, lambda x, y: opposite(below(y, x))),
    "greater_equal": compared(operator.ge, lambda x, y: opposite(below(x, y))),
    "logical_and": both,
    "logical_or": either,
    "logical_xor": lambda x, y: differs(truth(x), truth(y)),
    "logical_not": opposite,
}


@knows(*map(OPERATORS.__getitem__, FUNCTIONS))
def computed(op: Op, given: list[Elements]) -> Any:
    """An operator of single elements, which broadcast."""
    return each(FUNCTIONS[op.name])(*given)
