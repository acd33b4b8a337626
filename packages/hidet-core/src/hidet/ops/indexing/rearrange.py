"""Blocks of pixels as channels and back, and sequences reversed up to their lengths."""

from __future__ import annotations

from hidet.compute.sizes import tidy
from hidet.errors import ShapeMismatch
from hidet.graph import Tensor
from hidet.graph.dims import axis_of
from hidet.ops.elementwise.compare import less
from hidet.ops.elementwise.select import where
from hidet.ops.indexing.index import gather
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import iota
from hidet.ops.tensors.shape import expand, permute, reshape
from hidet.types import i64


def depth_to_space(x: Tensor, block: int, *, channels_outside: bool = False) -> Tensor:
    """x[n, c · block², h, w] with channels as blocks of pixels: [n, c, h · block, w · block].

    A channel's number counts the place in the block first, then c (ONNX "DCR"); with
    `channels_outside` c first ("CRD", torch's pixel_shuffle).
    """
    n, channels, height, width = of_images(x)
    each = channels_by(channels, block)
    if channels_outside:
        parts = permute(reshape(x, (n, each, block, block, height, width)), (0, 1, 4, 2, 5, 3))
    else:
        parts = permute(reshape(x, (n, block, block, each, height, width)), (0, 3, 4, 1, 5, 2))
    return reshape(parts, (n, each, tidy(height * block), tidy(width * block)))


def space_to_depth(x: Tensor, block: int, *, channels_outside: bool = False) -> Tensor:
    """x[n, c, h, w] with blocks of pixels as channels: [n, c · block², h / block, w / block].

    It undoes `depth_to_space`. Raises ShapeMismatch where blocks do not fit.
    """
    n, channels, height, width = of_images(x)
    for size in (height, width):
        if isinstance(size, int) and size % block:
            raise ShapeMismatch(f"an axis of {size} does not make blocks of {block}")
    rows, columns = tidy(height // block), tidy(width // block)
    parts = reshape(x, (n, channels, rows, block, columns, block))
    order = (0, 1, 3, 5, 2, 4) if channels_outside else (0, 3, 5, 1, 2, 4)
    return reshape(permute(parts, order), (n, tidy(channels * block * block), rows, columns))


def of_images(x: Tensor) -> tuple[int, ...]:
    """The shape of [n, c, h, w]."""
    if x.ndim != 4:
        raise ShapeMismatch(f"blocks of places are of [n, c, h, w], not of {x.ndim} dimensions")
    n, channels, height, width = x.shape
    return n, channels, height, width  # type: ignore[return-value]


def channels_by(channels: int, block: int) -> int:
    """The channels that are left of them."""
    if block < 1 or not isinstance(channels, int) or channels % (block * block):
        raise ShapeMismatch(f"{channels} channels do not make blocks of {block} · {block}")
    return channels // (block * block)


def reverse_sequence(
    x: Tensor, lengths: Tensor, *, batch_axis: int = 1, time_axis: int = 0
) -> Tensor:
    """`x` with its first elements along `time_axis` reversed: lengths[b] of them for batch b.

    `lengths` is integer [batch], each from 0 to the size of `time_axis`.
    """
    batch, time = axis_of(batch_axis, x.ndim), axis_of(time_axis, x.ndim)
    if batch == time or lengths.ndim != 1:
        raise ShapeMismatch("reverse_sequence takes two axes and lengths[batch]")

    def along(values: Tensor, axis: int) -> Tensor:
        shape = tuple(x.shape[axis] if each == axis else 1 for each in range(x.ndim))
        return reshape(values, shape)

    step = along(iota(x.shape[time], device=x.device), time)
    size = along(cast(lengths, i64), batch)
    place = where(less(step, size), size - 1 - step, step)
    return gather(x, time, expand(place, x.shape))
