"""Elements that a mask selects, and elements repeated. Result sizes depend on the data."""

from __future__ import annotations

from hidet.compute.sizes import broadcast, product, tidy
from hidet.errors import DtypeMismatch, ShapeMismatch
from hidet.graph import Tensor
from hidet.graph.dims import axis_of
from hidet.ops.indexing.compact import flat_nonzero
from hidet.ops.indexing.index import index_select, take
from hidet.ops.indexing.scatter import index_put
from hidet.ops.reductions.cumulative import cumsum
from hidet.ops.reductions.reduce import sum as total
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import ones_like, zeros
from hidet.ops.tensors.shape import expand, reshape, unsqueeze
from hidet.ops.tensors.size_from import size_from
from hidet.ops.tensors.slicing import slice as part
from hidet.types import Size, i64


def compress(x: Tensor, mask: Tensor, axis: int | None = None) -> Tensor:
    """The elements along `axis` where the 1-d `mask` is true; without an axis those of the
    flattened x. The mask may be shorter than the axis: elements beyond its end are left out."""
    if mask.ndim != 1 or not mask.dtype.is_bool:
        raise DtypeMismatch(f"compress takes a mask of one axis, not {mask.type}")
    if axis is None:
        x, axis = reshape(x, (x.size,)), 0
    return index_select(x, axis_of(axis, x.ndim), flat_nonzero(mask))


def masked_select(x: Tensor, mask: Tensor) -> Tensor:
    """The elements of `x` where `mask` is true, as a 1-d tensor; both broadcast."""
    if not mask.dtype.is_bool:
        raise DtypeMismatch(f"masked_select takes a mask, not {mask.type}")
    shape = broadcast(x.shape, mask.shape)
    flat = reshape(expand(x, shape), (product(shape),))
    return take(flat, [flat_nonzero(expand(mask, shape))])


def repeat_interleave(x: Tensor, count: Size | Tensor, axis: int) -> Tensor:
    """Each element repeated `count` times along `axis`: one size for all, or a 1-d tensor with a
    non-negative integer for each."""
    where = axis_of(axis, x.ndim)
    if isinstance(count, Tensor):
        return index_select(x, where, repeated(count, x.shape[where]))
    wide = unsqueeze(x, where + 1)
    spread = expand(wide, (*wide.shape[: where + 1], count, *wide.shape[where + 2 :]))
    size = tidy(x.shape[where] * count)
    return reshape(spread, (*x.shape[:where], size, *x.shape[where + 1 :]))


def repeated(counts: Tensor, size: Size | None = None) -> Tensor:
    """Each position of `counts` as often as it says: [0, 0, 2] of [2, 0, 1]."""
    if not counts.dtype.is_integer or counts.ndim > 1:
        raise ShapeMismatch(f"counts are integers along one axis, not {counts.type}")
    if size is not None:
        counts = expand(counts, (size,))
    counts = cast(counts, i64)
    length = size_from(total(counts), "repeated")
    # Place i belongs to the first position that ends behind it: as many end up to it.
    ends = cumsum(counts, 0)
    marks = zeros((tidy(length + 1),), i64, device=counts.device)
    ended = index_put(marks, [ends], ones_like(ends), accumulate=True)
    return part(cumsum(ended, 0), 0, 0, length)
