"""Views, joins and pieces: the same elements elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch as pytorch

from hidet import ops
from hidet.compute.sizes import tidy
from hidet.errors import NotYet
from hidet.graph import Tensor
from hidet.types import Size
from hidet_torch.converters.table import aten, torch
from hidet_torch.memory.dtypes import result_type
from hidet_torch.memory.strides import order_of

END = 1 << 31
"""Ends of slices from here on mean the end of the axis."""


@torch(aten.view.default, aten._unsafe_view.default)
def view(x: Tensor, shape: Sequence[Size]) -> Tensor:
    """The same elements under another shape."""
    return ops.reshape(x, shape)


@torch(aten.permute.default)
def permute(x: Tensor, axes: Sequence[int]) -> Tensor:
    """Axes in another order."""
    return ops.permute(x, tuple(axis % max(x.ndim, 1) for axis in axes))


@torch(aten.transpose.int)
def transpose(x: Tensor, a: int, b: int) -> Tensor:
    """Two axes swapped."""
    return ops.transpose(x, a, b) if x.ndim else x


@torch(aten.t.default)
def matrix_transpose(x: Tensor) -> Tensor:
    """A matrix transposed; a vector stays."""
    return ops.transpose(x, 0, 1) if x.ndim == 2 else x


@torch(aten.expand.default)
def expand(x: Tensor, shape: Sequence[Size], *, implicit: bool = False) -> Tensor:
    """Axes of size 1 repeated."""
    return ops.expand(x, shape)


@torch(aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims)
def squeeze(x: Tensor, axes: int | Sequence[int] | None = None) -> Tensor:
    """Without axes of size 1; asked for others, they stay."""
    if axes is None:
        return ops.squeeze(x)
    given = [axes] if isinstance(axes, int) else axes
    ones = tuple(a % x.ndim for a in given if x.ndim and x.shape[a] == 1)
    return ops.squeeze(x, ones) if ones else x


@torch(aten.unsqueeze.default)
def unsqueeze(x: Tensor, axis: int) -> Tensor:
    """With a new axis of size 1."""
    return ops.unsqueeze(x, axis)


@torch(aten.slice.Tensor)
def slice_axis(
    x: Tensor, axis: int = 0, start: Size | None = None, stop: Size | None = None, step: int = 1
) -> Tensor:
    """x[..., start:stop:step, ...]."""
    return ops.slice(x, axis, start, bounded(stop), step)


def bounded(stop: Size | None) -> Size | None:
    """The end of a slice; None instead of PyTorch's largest integer."""
    return None if isinstance(stop, int) and stop >= END else stop


@torch(aten.as_strided.default)
def as_strided(
    x: Tensor, example: pytorch.Tensor, size: Any, stride: Any, offset: Any = None
) -> Tensor:
    """The elements at strides in the memory that the traced tensor lies in."""
    order = order_of(example)
    if order is None:
        raise NotYet("as_strided of a tensor with gaps")
    own = example.storage_offset()
    start = 0 if offset is None else offset - own
    known = [each for each in (*size, *stride, start) if isinstance(each, int)]
    if len(known) == len(size) + len(stride) + 1 and isinstance(example.numel(), int):
        last = start + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        if 0 not in size and not 0 <= start <= last < example.numel():
            raise NotYet("as_strided beyond the elements of a tensor")
    return ops.as_strided(ops.permute(x, order), size, stride, start)


@torch(aten.select.int)
def select(x: Tensor, axis: int, index: Size) -> Tensor:
    """Number `index` along an axis."""
    return ops.select(x, axis, index)


@torch(aten.slice_scatter.default)
def slice_scatter(
    x: Tensor,
    source: Tensor,
    axis: int = 0,
    start: Size | None = None,
    stop: Size | None = None,
    step: int = 1,
) -> Tensor:
    """x with `source` in place of a slice."""
    return ops.slice_scatter(x, source, axis, start, bounded(stop), step)


@torch(aten.select_scatter.default)
def select_scatter(x: Tensor, source: Tensor, axis: int, index: Size) -> Tensor:
    """x with `source` in place of number `index`."""
    return ops.select_scatter(x, source, axis, index)


@torch(aten.split_with_sizes.default)
def split(x: Tensor, sizes: Sequence[Size], axis: int = 0) -> tuple[Tensor, ...]:
    """Pieces of an axis."""
    return ops.split(x, sizes, axis)


@torch(aten.unbind.int)
def unbind(x: Tensor, axis: int = 0) -> tuple[Tensor, ...]:
    """Each element of an axis."""
    count = x.shape[axis]
    assert isinstance(count, int)
    return tuple(ops.select(x, axis, index) for index in range(count))


@torch(aten.cat.default)
def cat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors one after the other; PyTorch passes over 1-d tensors without elements."""
    of = reduce_type(tensors)
    kept = [each for each in tensors if each.shape != (0,)] or list(tensors[:1])
    return ops.concat([ops.cast(each, of) for each in kept], axis)


@torch(aten.stack.default)
def stack(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Tensors along a new axis."""
    of = reduce_type(tensors)
    return ops.stack([ops.cast(each, of) for each in tensors], axis)


def reduce_type(tensors: Sequence[Tensor]) -> Any:
    """The type that holds elements of all tensors."""
    return result_type(*tensors)


def pairs(widths: Sequence[Size], ndim: int) -> list[tuple[Size, Size]]:
    """PyTorch's flat widths, last axis first, as (before, after) of each axis."""
    found = [(widths[i], widths[i + 1]) for i in range(0, len(widths), 2)][::-1]
    return [(0, 0)] * (ndim - len(found)) + found


@torch(aten.constant_pad_nd.default)
def constant_pad(x: Tensor, widths: Sequence[Size], value: float = 0) -> Tensor:
    """x with `value` around it."""
    return ops.pad(x, pairs(widths, x.ndim), "constant", value)


@torch(aten.reflection_pad1d.default, aten.reflection_pad2d.default, aten.reflection_pad3d.default)
def reflection_pad(x: Tensor, widths: Sequence[Size]) -> Tensor:
    """x mirrored at its edges."""
    return continued(x, widths, "reflect")


@torch(
    aten.replication_pad1d.default, aten.replication_pad2d.default, aten.replication_pad3d.default
)
def replication_pad(x: Tensor, widths: Sequence[Size]) -> Tensor:
    """x with its edges repeated."""
    return continued(x, widths, "replicate")


def continued(x: Tensor, widths: Sequence[Size], mode: Literal["reflect", "replicate"]) -> Tensor:
    """x with elements of its own around it; x itself where nothing is asked for."""
    each = pairs(widths, x.ndim)
    if all(width == 0 for pair in each for width in pair):
        return x
    if mode == "replicate" and any(is_cut(width) for pair in each for width in pair):
        return repeated_edges(x, each)
    return ops.pad(x, each, mode)


def is_cut(width: Size) -> bool:
    """Whether a width takes elements away."""
    return isinstance(width, int) and width < 0


def repeated_edges(x: Tensor, widths: Sequence[tuple[Size, Size]]) -> Tensor:
    """x with its edges repeated, or cut: all of an axis may be cut and its edge be left."""
    for axis, (before, after) in enumerate(widths):
        size = x.shape[axis]
        if not isinstance(size, int):
            raise NotYet("edges of a dynamic number of elements that are cut")
        place = ops.iota(tidy(size + before + after), device=x.device)
        inner = ops.clamp(ops.subtract(place, before), 0, size - 1)
        x = ops.index_select(x, axis, inner)
    return x


@torch(aten.flip.default)
def flip(x: Tensor, axes: Sequence[int]) -> Tensor:
    """Reversed along axes."""
    return ops.flip(x, tuple(axes)) if axes else x


@torch(aten.roll.default)
def roll(x: Tensor, shifts: Sequence[int], axes: Sequence[int] = ()) -> Tensor:
    """Moved on along axes, or as a whole."""
    if not axes:
        return ops.roll(x, shifts[0])
    return ops.roll(x, tuple(shifts), tuple(axes))


@torch(aten.repeat.default, aten.tile.default)
def repeat(x: Tensor, counts: Sequence[int]) -> Tensor:
    """x repeated as a whole."""
    if 0 in counts:
        sizes = (*[1] * (len(counts) - x.ndim), *x.shape)
        shape = tuple(size * count for size, count in zip(sizes, counts, strict=True))
        return ops.full(shape, 0, x.dtype, device=x.device)
    return ops.tile(x, tuple(counts))


@torch(aten.tril.default)
def tril(x: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle."""
    return ops.tril(x, diagonal)


@torch(aten.triu.default)
def triu(x: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle."""
    return ops.triu(x, diagonal)


@torch(aten.diagonal.default)
def diagonal(x: Tensor, offset: int = 0, a: int = 0, b: int = 1) -> Tensor:
    """The diagonal of two axes as the last axis."""
    return ops.diagonal(x, offset, a, b)


@torch(aten.unfold.default)
def unfold(x: Tensor, axis: int, size: int, step: int) -> Tensor:
    """Windows along an axis as the last axis."""
    return ops.sliding(x, axis, size, step)


@torch(aten.pixel_shuffle.default)
def pixel_shuffle(x: Tensor, factor: int) -> Tensor:
    """[..., c * r * r, h, w] as [..., c, h * r, w * r]."""
    *lead, channels, height, width = x.shape
    n = len(lead)
    split_ = ops.reshape(x, (*lead, channels // factor**2, factor, factor, height, width))
    order = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    shape = (*lead, channels // factor**2, height * factor, width * factor)
    return ops.reshape(ops.permute(split_, order), shape)
