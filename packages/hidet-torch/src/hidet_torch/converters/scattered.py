"""Tensors of which some elements are replaced: at positions, on a diagonal, where a mask holds."""

from __future__ import annotations

from typing import Any

import torch as pytorch

from hidet import ops
from hidet.compute.sizes import product
from hidet.errors import NotYet
from hidet.graph import Tensor
from hidet.types import boolean, i64
from hidet.types.strides import inverse
from hidet_torch.converters.index import scattered
from hidet_torch.converters.ordering import scatter_reduce
from hidet_torch.converters.shape import as_strided
from hidet_torch.converters.table import aten, torch
from hidet_torch.memory.strides import order_of

RULES = {"add": "add", "multiply": "mul"}


@torch(aten.scatter.reduce)
def scatter_combined(x: Tensor, axis: int, where: Tensor, source: Tensor, *, reduce: str) -> Tensor:
    """x with elements of the source added, or multiplied, at positions."""
    return scattered(x, axis, where, source, RULES[reduce])


@torch(aten.scatter.value_reduce)
def scatter_combined_value(
    x: Tensor, axis: int, where: Tensor, value: float, *, reduce: str
) -> Tensor:
    """x with a number added, or multiplied, at positions."""
    source = ops.full(where.shape, value, x.dtype, device=x.device)
    return scattered(x, axis, where, source, RULES[reduce])


@torch(aten.index_reduce.default)
def index_reduce(
    x: Tensor, axis: int, where: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """x combined with slices of a source at positions."""
    if x.ndim == 0:  # a number is as good as a row of one
        row, one = ops.reshape(x, (1,)), ops.reshape(source, (1,))
        found = index_reduce(row, 0, where, one, reduce, include_self=include_self)
        return ops.reshape(found, ())
    along = axis % x.ndim
    shape = tuple(-1 if each == along else 1 for each in range(x.ndim))
    each = ops.expand(ops.reshape(where, shape), source.shape)
    return scatter_reduce(x, along, each, source, reduce, include_self=include_self)


@torch(aten.put.default)
def put(x: Tensor, where: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """x with elements replaced, or added to, at positions of all its elements in a row."""
    flat, places = (ops.reshape(each, (-1,)) for each in (x, where))
    found = ops.index_put(flat, [places], ops.reshape(source, (-1,)), accumulate=accumulate)
    return ops.reshape(found, x.shape)


@torch(aten.masked_scatter.default)
def masked_scatter(x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """x with the elements of a source, one after the other, where the mask holds."""
    wide = ops.reshape(ops.expand(ops.cast(mask, boolean), x.shape), (-1,))
    before = ops.cumsum(ops.cast(wide, i64), 0, exclusive=True)
    flat = ops.reshape(source, (-1,))
    # Where the mask does not hold the place may lie behind the source, and is not looked at.
    place = ops.where(wide, before, ops.full((), 0, i64, device=x.device))
    found = ops.where(wide, ops.take(flat, [place]), ops.reshape(x, (-1,)), dtype=x.dtype)
    return ops.reshape(found, x.shape)


@torch(aten.diagonal_scatter.default)
def diagonal_scatter(
    x: Tensor, source: Tensor, offset: int = 0, first: int = 0, second: int = 1
) -> Tensor:
    """x with a source on a diagonal of two of its axes."""
    length = source.shape[-1]
    if not isinstance(length, int):
        raise NotYet("a diagonal of any length")
    if length == 0:
        return x
    axes = [first % x.ndim, second % x.ndim]
    order = [axis for axis in range(x.ndim) if axis not in axes] + axes
    moved = ops.permute(x, tuple(order))
    place = ops.iota(length, device=x.device)
    rows, columns = (ops.add(place, max(each, 0)) for each in (-offset, offset))
    around = [None] * (x.ndim - 2)
    found = ops.index_put(moved, [*around, rows, columns], source, distinct=True)
    return ops.permute(found, tuple(order.index(axis) for axis in range(x.ndim)))


@torch(aten.as_strided_scatter.default)
def as_strided_scatter(
    x: Tensor,
    example: pytorch.Tensor,
    source: Tensor,
    size: Any,
    stride: Any,
    offset: Any = None,
) -> Tensor:
    """x with a source at strides in the memory that the traced tensor lies in."""
    order = order_of(example)
    if order is None:
        raise NotYet("as_strided_scatter of a tensor with gaps")
    lying = ops.permute(x, order)
    numbers = ops.reshape(ops.iota(product(x.shape), device=x.device), lying.shape)
    places = as_strided(ops.permute(numbers, inverse(order)), example, size, stride, offset)
    found = ops.index_put(ops.reshape(lying, (-1,)), [places], source)
    return ops.permute(ops.reshape(found, lying.shape), inverse(order))
