"""What data select: as many elements come out as a call finds."""

from __future__ import annotations

from hidet import ops
from hidet.compute.sizes import product
from hidet.graph import Tensor
from hidet.types import i64
from hidet_torch.converters.table import aten, require, torch


@torch(aten.nonzero.default)
def nonzero(x: Tensor) -> Tensor:
    """The index of each element that is not zero."""
    return ops.nonzero(x)


@torch(aten.nonzero_static.default)
def nonzero_static(x: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The indices of the first so many elements that are not zero; a number where there are
    fewer."""
    marks = ops.cast(ops.not_equal(ops.reshape(x, (-1,)), 0), i64)
    before = ops.cumsum(marks, 0, exclusive=True)
    # What is zero, or beyond the size, is written behind the end.
    place = ops.where(ops.logical_and(marks, ops.less(before, size)), before, size)
    none = ops.full((size + 1,), -1, i64, device=x.device)
    own = ops.iota(marks.shape[0], device=x.device)
    found = ops.slice(ops.index_put(none, [place], own, distinct=True), 0, 0, size)
    if not x.ndim:
        return ops.zeros((size, 0), i64, device=x.device)
    columns, step = [], product(x.shape)
    for each in x.shape:
        step = step // each
        columns.append(ops.remainder(ops.floor_divide(found, step), each))
    return ops.where(ops.less(ops.unsqueeze(found, 1), 0), fill_value, ops.stack(columns, 1))


@torch(aten.nonzero_numpy.default)
def nonzero_numpy(x: Tensor) -> list[Tensor]:
    """The same by axes."""
    found = ops.nonzero(x if x.ndim else ops.reshape(x, (1,)))
    return [ops.select(found, 1, axis) for axis in range(max(x.ndim, 1))]


@torch(aten.masked_select.default)
def masked_select(x: Tensor, mask: Tensor) -> Tensor:
    """The elements where a mask holds."""
    return ops.masked_select(x, mask)


@torch(aten._unique2.default)
def unique(
    x: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """The elements each once, in order; which of them each element is, and how often each is
    there."""
    found = ops.unique(x)
    return found.values, ops.reshape(found.inverse, x.shape), found.counts


@torch(aten.unique_dim.default)
def unique_dim(
    x: Tensor,
    axis: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """The slices along an axis each once, in order."""
    found = ops.unique(x, axis)
    return found.values, found.inverse, found.counts


@torch(aten.unique_consecutive.default)
def unique_consecutive(
    x: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Runs of equals, each once."""
    found = ops.unique_consecutive(x, dim)
    inverse = found.inverse if dim is not None else ops.reshape(found.inverse, x.shape)
    return found.values, inverse, found.counts


@torch(aten.repeat_interleave.Tensor)
def repeat_interleave(counts: Tensor, *, output_size: int | None = None) -> Tensor:
    """Each position as often as it is counted."""
    require(output_size is None, "repeat_interleave of a size that is said beforehand")
    places = ops.iota(counts.shape[0], device=counts.device)
    return ops.cast(ops.repeat_interleave(places, counts, 0), counts.dtype)


@torch("torchvision::nms")
def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """Which boxes stay, by falling scores."""
    kept = ops.non_max_suppression(
        ops.reshape(boxes, (1, *boxes.shape)),
        ops.reshape(scores, (1, 1, *scores.shape)),
        iou_threshold=iou_threshold,
    )
    return ops.select(kept, 1, 2)
