"""The element that is so many of an order: medians and k-th values."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet.types import f32, i64
from hidet_torch.converters.ordering import neutral, require_few, sort
from hidet_torch.converters.table import aten, require, torch


@torch(aten.kthvalue.default)
def kthvalue(x: Tensor, k: int, axis: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The k-th smallest element, and where it is."""
    rows = x if x.ndim else ops.reshape(x, (1,))
    require_few(rows, axis)
    first = ops.topk(rows, k, axis, largest=False)
    values, where = (ops.slice(each, axis, k - 1) for each in first)
    if keepdim and x.ndim:
        return values, where
    return ops.squeeze(values, axis), ops.squeeze(where, axis)


@torch(aten.median.dim)
def median(x: Tensor, axis: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The lower median, and where it is; a NaN where there is one."""
    valid = numbers(x, axis)
    size = x.shape[axis] if x.ndim else 1
    middle = ops.floor_divide(ops.subtract(valid, 1), 2)
    # NaNs come last in order: the first of them is at the number of others.
    return picked(x, axis, keepdim, ops.where(ops.less(valid, size), valid, middle))


@torch(aten.nanmedian.dim)
def nanmedian(x: Tensor, axis: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The lower median of what is a number, and where it is."""
    middle = ops.floor_divide(ops.subtract(numbers(x, axis), 1), 2)
    return picked(x, axis, keepdim, ops.maximum(middle, 0))


@torch(aten.median.default)
def median_of_all(x: Tensor) -> Tensor:
    """The lower median of all elements; NaN if there is one."""
    return median(ops.reshape(x, (-1,)), 0)[0]


@torch(aten.nanmedian.default)
def nanmedian_of_all(x: Tensor) -> Tensor:
    """The lower median of all elements that are numbers."""
    return nanmedian(ops.reshape(x, (-1,)), 0)[0]


def numbers(x: Tensor, axis: int) -> Tensor:
    """How many elements along an axis are no NaN."""
    rows = x if x.ndim else ops.reshape(x, (1,))
    return ops.sum(ops.cast(ops.equal(rows, rows), i64), axis, keepdims=True)


def picked(x: Tensor, axis: int, keepdim: bool, place: Tensor) -> tuple[Tensor, Tensor]:
    """The elements at a place in order, and where they were."""
    rows = x if x.ndim else ops.reshape(x, (1,))
    require_few(rows, axis)
    require(rows.shape[axis] != 0, "the median of nothing")
    both = (ops.gather(each, axis=axis, index=place) for each in sort(rows, axis))
    values, where = (each if keepdim and x.ndim else ops.squeeze(each, axis) for each in both)
    return values, where


COMPARED = 256
"""Elements up to which a CPU finds the most frequent one by comparing each with each: PyTorch sorts
them, which is faster for longer rows."""


@torch(aten.mode.default)
def mode(x: Tensor, axis: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The least of the elements that are most frequent, and the last place of it."""
    rows = ops.transpose(x, axis, -1) if x.ndim else ops.reshape(x, (1,))
    require_few(rows, -1)
    size = rows.shape[-1]
    is_short = isinstance(size, int) and size <= COMPARED
    require(
        x.device != "cpu" or is_short, f"the most frequent of over {COMPARED} elements on a CPU"
    )
    alike = ops.equal(ops.unsqueeze(rows, -1), ops.unsqueeze(rows, -2))
    # Of at most MOST elements float32 counts right, and more of them at once than int64.
    count = ops.sum(ops.cast(alike, f32), -1)
    is_frequent = ops.equal(count, ops.max(count, -1, keepdims=True))
    values = ops.where(is_frequent, rows, neutral(x, "min"), dtype=x.dtype)
    least = ops.min(values, -1, keepdims=True)
    place = ops.iota(rows.shape[-1], device=x.device)
    where = ops.max(ops.where(ops.equal(rows, least), place, 0), -1, keepdims=True)
    both = (least, where) if not x.ndim else (ops.transpose(e, axis, -1) for e in (least, where))
    found = [each if keepdim and x.ndim else ops.squeeze(each, axis) for each in both]
    return found[0], found[1]
