"""Slices, with bounds that the model fixes or computes."""

from __future__ import annotations

from hidet import ops
from hidet.compute.sizes import product, tidy
from hidet.frontend.importing.operands import elements, integers
from hidet.frontend.importing.slices import slice_between
from hidet.graph import Tensor
from hidet.types import Size
from hidet_tf.converters.table import tf


@tf("StridedSlice")
def strided_slice(
    x: Tensor, begin: Tensor, end: Tensor, strides: Tensor, *,
    begin_mask: int, end_mask: int, ellipsis_mask: int, new_axis_mask: int, shrink_axis_mask: int,
) -> Tensor:  # fmt: skip
    """x[spec, spec, ...], where bits of the masks say what each spec is.

    Of the masks a spec is in, the one of ellipses counts first, then that of new axes, then that of
    single elements; those of bounds say which of these are left out.
    """
    first, last, steps = elements(begin), elements(end), integers(strides)
    axis = 0
    for place, (start, stop, step) in enumerate(zip(first, last, steps, strict=True)):
        bit = 1 << place
        if ellipsis_mask & bit:
            after = [1 << later for later in range(place + 1, len(steps))]
            axis = x.ndim - sum(not new_axis_mask & each for each in after)
        elif new_axis_mask & bit:
            x = ops.unsqueeze(x, axis)
            axis += 1
        elif shrink_axis_mask & bit:
            x = element_at(x, axis, start)
        else:
            low = None if begin_mask & bit else start
            x = slice_between(x, axis, low, None if end_mask & bit else stop, step)
            axis += 1
    return x


@tf("TensorStridedSliceUpdate")
def strided_slice_update(
    x: Tensor, begin: Tensor, end: Tensor, strides: Tensor, value: Tensor, *,
    begin_mask: int, end_mask: int, ellipsis_mask: int, new_axis_mask: int, shrink_axis_mask: int,
) -> Tensor:  # fmt: skip
    """x with `value`, which broadcasts, in place of x[spec, spec, ...]."""
    count = product(x.shape)
    places = ops.reshape(ops.iota(count, device=x.device), x.shape)
    taken = strided_slice(
        places, begin, end, strides, begin_mask=begin_mask, end_mask=end_mask,
        ellipsis_mask=ellipsis_mask, new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
    )  # fmt: skip
    values = ops.expand(value, taken.shape)
    return ops.reshape(ops.index_put(ops.reshape(x, (count,)), (taken,), values), x.shape)


def element_at(x: Tensor, axis: int, place: Size | Tensor) -> Tensor:
    """One element of an axis, which the result does not have."""
    if isinstance(place, Tensor):
        return ops.take(x, [*[None] * axis, ops.reshape(place, ())])
    return ops.select(x, axis, place)


@tf("Slice")
def slice_from(x: Tensor, begin: Tensor, size: Tensor) -> Tensor:
    """So many elements of each axis from a place on; all that follow if -1."""
    for axis, (start, count) in enumerate(zip(elements(begin), elements(size), strict=True)):
        x = counted(x, axis, start, count)
    return x


def counted(x: Tensor, axis: int, start: Size | Tensor, count: Size | Tensor) -> Tensor:
    """So many elements of an axis from a place on, wherever these are known."""
    if isinstance(count, int) and count == -1:
        return slice_between(x, axis, start, None)
    if isinstance(start, Tensor) or isinstance(count, Tensor):
        number = ops.size_from(count, "slice") if isinstance(count, Tensor) else count
        places = ops.iota(number, device=x.device)
        return ops.take(x, [*[None] * axis, ops.add(places, start)])
    return ops.slice(x, axis, start, tidy(start + count))
