"""Elements at positions that are data: lookups, gathers, scatters."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.compute.sizes import same
from hidet.graph import Tensor
from hidet.types import boolean, u8
from hidet_torch.converters.table import aten, require, torch


def places(indices: Sequence[Tensor | None]) -> list[Tensor | None]:
    """The indices, if none of them is a mask of bytes, which stands for a mask in PyTorch."""
    for each in indices:
        require(each is None or each.dtype is not u8, "indexing by a mask of bytes")
    return list(indices)


@torch(aten.index.Tensor, aten._unsafe_index.Tensor)
def index(x: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """x[indices]; a mask stands for the positions where it holds."""
    return ops.take(x, places(indices))


@torch(aten.take.default)
def take(x: Tensor, index: Tensor) -> Tensor:
    """The elements at positions of all elements in a row."""
    return ops.take(ops.reshape(x, (-1,)), [index])


@torch(aten.index_put.default, aten._unsafe_index_put.default)
def index_put(
    x: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
) -> Tensor:
    """x with x[indices] replaced, or added to."""
    mask = indices[0] if len(indices) == 1 else None
    is_mask = mask is not None and mask.dtype is boolean
    if mask is not None and is_mask and are_alike(values, x.ndim - mask.ndim):
        return masked_put(x, mask, values, accumulate)
    return ops.index_put(x, places(indices), values, accumulate=accumulate, distinct=is_mask)


def are_alike(values: Tensor, inner: int) -> bool:
    """Whether all that a mask selects gets the same values; `inner` axes are behind the mask's."""
    one = values.ndim == inner + 1 and bool(same(values.shape[0], 1))
    return one or values.ndim <= inner


def masked_put(x: Tensor, mask: Tensor, values: Tensor, accumulate: bool) -> Tensor:
    """x with the same values, or with them added, wherever the mask holds."""
    wide = ops.reshape(mask, (*mask.shape, *[1] * (x.ndim - mask.ndim)))
    put = ops.add(x, values) if accumulate else values
    return ops.where(wide, put, x, dtype=x.dtype)


@torch(aten.embedding.default)
def embedding(
    weight: Tensor,
    where: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Rows of the weight."""
    return ops.embedding(weight, where)


@torch(aten.gather.default)
def gather(x: Tensor, axis: int, where: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """The elements at positions along an axis."""
    if not x.ndim:
        return ops.expand(x, where.shape)
    return ops.gather(x, axis=axis, index=where)


@torch(aten.index_select.default)
def index_select(x: Tensor, axis: int, where: Tensor) -> Tensor:
    """The slices at positions along an axis."""
    if not x.ndim:
        return x  # PyTorch takes one position here
    return ops.index_select(x, axis=axis, index=ops.reshape(where, (-1,)))


def scattered(x: Tensor, axis: int, where: Tensor, source: Tensor, rule: str) -> Tensor:
    """x with a source, cut to the shape of the positions, put at them."""
    require(x.ndim > 0, "scattering into a number")
    for a, size in enumerate(where.shape):
        source = ops.slice(source, a, 0, size)
    return ops.scatter(x, axis, where, ops.cast(source, x.dtype), rule)  # type: ignore[arg-type]


@torch(aten.scatter.src)
def scatter(x: Tensor, axis: int, where: Tensor, source: Tensor) -> Tensor:
    """x with elements of the source put at positions."""
    return scattered(x, axis, where, source, "set_last")


@torch(aten.scatter.value)
def scatter_value(x: Tensor, axis: int, where: Tensor, value: float) -> Tensor:
    """x with a number put at positions."""
    source = ops.full(where.shape, value, x.dtype, device=x.device)
    return scattered(x, axis, where, source, "set_last")


@torch(aten.scatter_add.default)
def scatter_add(x: Tensor, axis: int, where: Tensor, source: Tensor) -> Tensor:
    """x with elements of the source added at positions."""
    return scattered(x, axis, where, source, "add")


@torch(aten.index_add.default)
def index_add(x: Tensor, axis: int, where: Tensor, source: Tensor, *, alpha: float = 1) -> Tensor:
    """x with slices of the source added at positions."""
    if alpha != 1:
        source = ops.multiply(source, alpha, dtype=source.dtype)
    if not x.ndim:
        return ops.add(x, ops.reshape(source, ()))
    return ops.index_add(x, axis, where, source)


@torch(aten.index_copy.default)
def index_copy(x: Tensor, axis: int, where: Tensor, source: Tensor) -> Tensor:
    """x with slices replaced at positions; of those for one place any is kept, as PyTorch says."""
    if not x.ndim:
        return ops.reshape(source, ())
    places = [None] * (axis % x.ndim) + [ops.reshape(where, (-1,))]
    return ops.index_put(x, places, source, distinct=True)


@torch(aten.index_fill.int_Scalar, aten.index_fill.int_Tensor)
def index_fill(x: Tensor, axis: int, where: Tensor, value: float | Tensor) -> Tensor:
    """x with one value in slices at positions."""
    if not isinstance(value, Tensor):
        value = ops.full((), value, x.dtype, device=x.device)
    if not x.ndim:
        return ops.cast(value, x.dtype)
    places = [None] * (axis % x.ndim) + [ops.reshape(where, (-1,))]
    return ops.index_put(x, places, value, distinct=True)
