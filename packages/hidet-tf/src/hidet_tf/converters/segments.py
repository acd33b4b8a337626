"""Rows combined by the number of the segment that each belongs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hidet import ops
from hidet.compute.grid import Rule
from hidet.compute.sizes import product
from hidet.frontend.importing.operands import size_of
from hidet.graph import Tensor
from hidet.types import DType, Size, i64
from hidet_tf.converters.table import tf

RULES: dict[str, tuple[Rule, Callable[[DType], Any]]] = {
    "Sum": ("add", lambda of: 0),
    "Prod": ("mul", lambda of: 1),
    "Max": ("max", lambda of: of.limits[0]),
    "Min": ("min", lambda of: of.limits[1]),
}
"""How rows of a segment are combined, and what one without rows gives."""


def combined(x: Tensor, segments: Tensor, count: Size, rule: Rule, start: Any) -> Tensor:
    """[count, ...]: the rows of x by their segments, from a start; those of none are left out."""
    rows = ops.reshape(x, (product(segments.shape), *x.shape[segments.ndim :]))
    number = ops.cast(ops.reshape(segments, (-1,)), i64)
    most = ops.size_value(count, device=x.device)
    inside = ops.where(ops.less(number, 0), most, number)  # the last row takes what is dropped
    index = ops.expand(ops.reshape(inside, (-1, *(1,) * (rows.ndim - 1))), rows.shape)
    begin = ops.full((count + 1, *rows.shape[1:]), start, x.dtype, device=x.device)
    return ops.slice(ops.scatter(begin, 0, index, rows, rule), 0, 0, count)


def unsorted(name: str) -> None:
    """File the reduction of segments whose numbers come in any order."""
    rule, start = RULES[name]

    def convert(x: Tensor, segments: Tensor, count: Tensor) -> Tensor:
        return combined(x, segments, size_of(count), rule, start(x.dtype))

    convert.__name__, convert.__doc__ = name.lower(), f"{name} of the rows of each segment."
    tf(f"UnsortedSegment{name}")(convert)


def ordered(name: str) -> None:
    """File the reduction of segments whose numbers rise: the last one tells how many there are."""
    rule, start = RULES[name]

    def convert(x: Tensor, segments: Tensor) -> Tensor:
        count = counted(segments)
        found = combined(x, segments, count, rule, start(x.dtype))
        return found if name in ("Sum", "Prod") else zero_where_empty(found, segments, count)

    convert.__name__, convert.__doc__ = name.lower(), f"{name} of the rows of each segment."
    tf(f"Segment{name}")(convert)


def counted(segments: Tensor) -> Size:
    """How many segments rising numbers name; a call reads it."""
    return ops.size_from(ops.add(ops.cast(ops.select(segments, 0, -1), i64), 1), "segments")


def sizes_of_segments(segments: Tensor, count: Size, kind: DType) -> Tensor:
    """How many rows each segment has."""
    ones = ops.ones(segments.shape, kind, device=segments.device)
    return combined(ones, segments, count, "add", 0)


def zero_where_empty(x: Tensor, segments: Tensor, count: Size) -> Tensor:
    """0 for segments without rows."""
    there = ops.greater(sizes_of_segments(segments, count, i64), 0)
    return ops.where(ops.reshape(there, (-1, *(1,) * (x.ndim - 1))), x, ops.zeros_like(x))


for _name in RULES:
    unsorted(_name)
    ordered(_name)


@tf("SegmentMean")
def segment_mean(x: Tensor, segments: Tensor) -> Tensor:
    """The mean of the rows of each segment; 0 without rows."""
    count = counted(segments)
    total = combined(x, segments, count, "add", 0)
    sizes = ops.maximum(sizes_of_segments(segments, count, x.dtype), 1)
    return ops.divide(total, ops.reshape(sizes, (-1, *(1,) * (x.ndim - 1))))


@tf("DenseBincount")
def dense_bincount(x: Tensor, size: Tensor, weights: Tensor, *, binary_output: bool) -> Tensor:
    """How often, or with which weights, each number below `size` is there, for each row of x."""
    count, of = size_of(size), weights.dtype
    rows = 1 if x.ndim == 1 else x.shape[0]
    first = ops.reshape(ops.multiply(ops.iota(rows, device=x.device), count), (-1, 1))
    wide = ops.cast(ops.reshape(x, (rows, -1)), i64)
    inside = ops.logical_and(ops.greater_equal(wide, 0), ops.less(wide, count))
    bins = ops.where(inside, ops.add(wide, first), -1)
    heavy = (
        ops.ones(wide.shape, of, device=x.device)
        if weights.size == 0
        else ops.reshape(weights, wide.shape)
    )
    rule: Rule = "max" if binary_output else "add"
    found = combined(heavy, bins, rows * count, rule, 0)
    return ops.reshape(found, (count,) if x.ndim == 1 else (rows, count))


@tf("HistogramFixedWidth")
def histogram(x: Tensor, ends: Tensor, count: Tensor, *, dtype: DType) -> Tensor:
    """How many elements are in each of so many equal bins; those outside are in the last ones."""
    bins = size_of(count)
    low, high = (ops.select(ends, 0, place) for place in range(2))
    number = ops.cast(ops.size_value(bins, device=x.device), x.dtype)
    step = ops.divide(ops.subtract(high, low), number)
    place = ops.floor(ops.divide(ops.subtract(x, low), step))
    inside = ops.minimum(ops.maximum(place, 0.0), ops.subtract(number, 1.0))
    ones = ops.ones(x.shape, dtype, device=x.device)
    return combined(ones, ops.cast(inside, i64), bins, "add", 0)
