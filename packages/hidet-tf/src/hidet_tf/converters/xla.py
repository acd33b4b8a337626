"""An operator of XLA's by which Keras updates parts of tensors at places that data tell."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.compute.sizes import same
from hidet.frontend.importing.operands import elements
from hidet.graph import Tensor
from hidet.types import Size, i64
from hidet_tf.converters.table import tf


@tf("XlaDynamicUpdateSlice")
def update_slice(x: Tensor, part: Tensor, start: Tensor) -> Tensor:
    """x with a part of it replaced, which begins at `start`, or before that to lie within x."""
    places = positions(x, start, part.shape)
    if all(each is None for each in places):
        return part
    return ops.index_put(x, places, part, distinct=True)


def positions(x: Tensor, start: Tensor, sizes: Sequence[Size]) -> list[Tensor | None]:
    """The positions of a part along each axis, to be broadcast; None for axes that are whole.

    Whole axes between others have positions too, so that numpy's order of axes is x's.
    """
    partial = [a for a, size in enumerate(sizes) if same(size, x.shape[a]) is not True]
    if not partial:
        return [None] * x.ndim
    first, last = partial[0], partial[-1]
    begins = elements(start)
    found: list[Tensor | None] = [None] * x.ndim
    for axis in range(first, last + 1):
        along = ops.iota(sizes[axis], device=x.device)
        if axis in partial:
            along = ops.add(along, within(begins[axis], x.shape[axis], sizes[axis], x.device))
        found[axis] = ops.reshape(along, (-1, *(1,) * (last - axis)))
    return found


def within(begin: Size | Tensor, size: Size, part: Size, device: str) -> Tensor:
    """Where a part begins that has to lie within an axis."""
    most = ops.size_value(size - part, device=device)
    if not isinstance(begin, Tensor):
        begin = ops.size_value(begin, device=device)
    return ops.maximum(ops.minimum(ops.cast(begin, i64), most), 0)
