"""Ranges and slices whose bounds models compute: known, of sizes, or told by data."""

from __future__ import annotations

import math

from hidet import ops
from hidet.compute.sizes import tidy
from hidet.errors import BadArgument, NeedsValue
from hidet.frontend.importing.operands import number
from hidet.graph import Tensor
from hidet.ops.tensors.slicing import largest
from hidet.types import Size, f64, i64


def range_between(start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    """start, start + delta, ... before the limit, in the type of `start`.

    The operands have one element. Raises ValueError for a step that is known to be 0.
    """
    try:
        first, last, step = (number(each) for each in (start, limit, delta))
    except NeedsValue as error:
        if error.inputs:  # who imports can ask for them
            raise
        return data_dependent_range(start, limit, delta)
    if isinstance(step, int | float) and step == 0:
        # No HidetError: what a framework runs instead may give no numbers without a word.
        raise ValueError("the step of a range is 0")
    count: Size
    if all(isinstance(each, int | float) for each in (first, last, step)):
        count = max(math.ceil((last - first) / step), 0)
    elif step == 1:
        count = largest(tidy(last - first), 0)
    else:
        raise BadArgument("a range with a step that only a call tells")
    if isinstance(first, int | float):
        return ops.iota(count, start=first, step=step, dtype=start.dtype, device=start.device)
    places = ops.iota(count, dtype=start.dtype, device=start.device)
    return ops.cast(ops.add(ops.multiply(places, step), first), start.dtype)


def data_dependent_range(start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    """The same where only data tell how many numbers there are: each call reads it."""
    first, last, step = (ops.cast(ops.reshape(each, ()), f64) for each in (start, limit, delta))
    count = ops.maximum(ops.ceil(ops.divide(ops.subtract(last, first), step)), 0.0)
    places = ops.iota(ops.size_from(ops.cast(count, i64)), dtype=start.dtype, device=start.device)
    return ops.cast(ops.add(ops.multiply(places, delta), start), start.dtype)


def slice_between(
    x: Tensor, axis: int, start: Size | Tensor | None, end: Size | Tensor | None, step: int = 1
) -> Tensor:
    """x[start:end:step] along an axis, by Python's rules.

    Where a bound is a tensor of one element, each call reads how many elements there are.
    """
    if step == 0:
        raise BadArgument(f"the step of axis {axis} is 0")
    if not isinstance(start, Tensor) and not isinstance(end, Tensor):
        return ops.slice(x, axis, start, end, step)
    where = axis % x.ndim
    size = ops.size_value(x.shape[where], device=x.device)
    least, most = (0, size) if step > 0 else (-1, size - 1)
    ends = (least, most) if step > 0 else (most, least)

    def within(given: Size | Tensor | None, default: Tensor | int) -> Tensor:
        if given is None:
            return ops.add(ops.zeros((), i64, device=x.device), default)
        place = whole(given, x.device)
        place = ops.where(ops.less(place, 0), ops.add(place, size), place)
        return ops.minimum(ops.maximum(place, least), most)

    first = within(start, ends[0])
    ahead = ops.subtract(within(end, ends[1]), first) * (1 if step > 0 else -1)
    count = ops.floor_divide(ops.maximum(ahead, 0) + (abs(step) - 1), abs(step))
    places = ops.iota(ops.size_from(count, "slice"), device=x.device) * step
    return ops.take(x, [*[None] * where, ops.add(places, first)])


def whole(given: Size | Tensor, device: str) -> Tensor:
    """A bound as an i64 without axes."""
    if isinstance(given, Tensor):
        return ops.cast(ops.reshape(given, ()), i64)
    return ops.size_value(given, device=device)
