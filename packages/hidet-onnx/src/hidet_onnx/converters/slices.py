"""Slices, with bounds that the model fixes or computes."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.errors import BadArgument
from hidet.frontend.operands import elements, integers
from hidet.graph import Tensor
from hidet.types import Size, i64
from hidet_onnx.converters.here import here
from hidet_onnx.converters.table import onnx

FAR = 2**31 - 1
"""Bounds of slices from here on mean the end of the axis."""


@onnx("Slice", since=10)
def slice_axes(
    x: Tensor, starts: Tensor, ends: Tensor, axes: Tensor | None = None,
    steps: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """x[start:end:step] along axes, by Python's rules."""
    first, last = elements(starts), elements(ends)
    along = tuple(range(len(first))) if axes is None else integers(axes)
    apart = (1,) * len(first) if steps is None else integers(steps)
    return sliced(x, first, last, along, apart)


@onnx("Slice", since=1)
def slice_before_10(
    x: Tensor, *, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None = None
) -> Tensor:
    """The same with bounds that the model fixes."""
    along = tuple(range(len(starts))) if axes is None else axes
    return sliced(x, starts, ends, along, (1,) * len(starts))


def sliced(
    x: Tensor, starts: Sequence[Size | Tensor], ends: Sequence[Size | Tensor],
    axes: Sequence[int], steps: Sequence[int],
) -> Tensor:  # fmt: skip
    """x[start:end:step] along each of the axes."""
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step == 0:
            raise BadArgument(f"the step of axis {axis} is 0")
        if isinstance(start, Tensor) or isinstance(end, Tensor):
            x = part(x, start, end, axis, step)
        else:
            x = ops.slice(x, axis, bound(start), bound(end), step)
    return x


def part(x: Tensor, start: Size | Tensor, end: Size | Tensor, axis: int, step: int) -> Tensor:
    """The same with bounds that only data tell: each call reads how many elements there are."""
    where = axis % x.ndim
    size = ops.size_value(x.shape[where], device=here().device)
    least, most = (0, size) if step > 0 else (-1, size - 1)

    def within(given: Size | Tensor) -> Tensor:
        place = whole(given)
        place = ops.where(ops.less(place, 0), ops.add(place, size), place)
        return ops.minimum(ops.maximum(place, least), most)

    first = within(start)
    ahead = ops.subtract(within(end), first) * (1 if step > 0 else -1)
    count = ops.floor_divide(ops.maximum(ahead, 0) + (abs(step) - 1), abs(step))
    places = ops.iota(ops.size_from(count, "slice"), device=here().device) * step
    return ops.take(x, [*[None] * where, ops.add(places, first)])


def whole(given: Size | Tensor) -> Tensor:
    """A bound as an i64 without axes."""
    if isinstance(given, Tensor):
        return ops.cast(given, i64)
    return ops.size_value(given, device=here().device)


def bound(given: Size) -> Size | None:
    """A bound of a slice; None for one beyond any axis, which ONNX's exporters write as a huge
    number."""
    return None if isinstance(given, int) and not -FAR < given < FAR else given
