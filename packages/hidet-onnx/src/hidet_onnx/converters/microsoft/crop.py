"""Regions of images at one size."""

from __future__ import annotations

from hidet import ops
from hidet.errors import BadArgument
from hidet.frontend.importing.operands import integers
from hidet.graph import Tensor
from hidet.types import Size, i64
from hidet_onnx.converters.table import microsoft


@microsoft("CropAndResize")
def crop_and_resize(
    x: Tensor, rois: Tensor, batch: Tensor, crop_size: Tensor, *, extrapolation_value: float = 0.0,
    mode: str = "bilinear",
) -> Tensor:  # fmt: skip
    """The regions [y1, x1, y2, x2] of images x[n, c, h, w], 0 and 1 being the outermost elements.

    Elements of the result [regions, c, *crop_size] that lie outside of the image have the
    extrapolation value.
    """
    if mode not in ("bilinear", "nearest"):
        raise BadArgument(f"CropAndResize has no mode {mode!r}", help="use bilinear or nearest")
    tall, wide = integers(crop_size)
    y = ops.unsqueeze(places(rois, 0, tall, x.shape[2]), 2)
    z = ops.unsqueeze(places(rois, 1, wide, x.shape[3]), 1)
    image = ops.reshape(batch, (-1, 1, 1))
    last = ops.permute(x, (0, 2, 3, 1))

    def read(row: Tensor, column: Tensor) -> Tensor:
        index = [within(row, x.shape[2]), within(column, x.shape[3])]
        return ops.take(last, [image, *index])

    if mode == "nearest":
        found = read(*(ops.floor(ops.add(each, 0.5)) for each in (y, z)))
    else:
        top, left = ops.floor(y), ops.floor(z)
        down, right = (ops.unsqueeze(ops.subtract(a, b), -1) for a, b in ((y, top), (z, left)))
        above, below = (
            between(read(row, left), read(row, ops.add(left, 1.0)), right)
            for row in (top, ops.add(top, 1.0))
        )
        found = between(above, below, down)
    is_inside = ops.logical_and(reached(y, x.shape[2]), reached(z, x.shape[3]))
    kept = ops.where(ops.unsqueeze(is_inside, -1), found, extrapolation_value)
    return ops.permute(ops.cast(kept, x.dtype), (0, 3, 1, 2))


def places(rois: Tensor, axis: int, count: int, size: Size) -> Tensor:
    """Where on an axis of this size the elements of each region are read: [regions, count]."""
    first, last = (ops.unsqueeze(ops.select(rois, 1, each), 1) for each in (axis, axis + 2))
    span = ops.cast(ops.size_value(size - 1, i64, device=rois.device), rois.dtype)
    if count == 1:
        return ops.multiply(ops.multiply(ops.add(first, last), 0.5), span)
    step = ops.divide(ops.multiply(ops.subtract(last, first), span), float(count - 1))
    number = ops.cast(ops.iota(count, device=rois.device), rois.dtype)
    return ops.add(ops.multiply(first, span), ops.multiply(number, step))


def within(place: Tensor, size: Size) -> Tensor:
    """Whole places as indices of an axis."""
    last = ops.size_value(size - 1, i64, device=place.device)
    return ops.maximum(ops.minimum(ops.cast(place, i64), last), 0)


def reached(place: Tensor, size: Size) -> Tensor:
    """Whether places lie between the first and the last element of an axis."""
    last = ops.cast(ops.size_value(size - 1, i64, device=place.device), place.dtype)
    return ops.logical_and(ops.greater_equal(place, 0.0), ops.less_equal(place, last))


def between(a: Tensor, b: Tensor, part: Tensor) -> Tensor:
    """What lies at this part of the way from a to b."""
    return ops.add(a, ops.multiply(ops.subtract(b, a), part))
