"""Reductions over axes, running sums, and the positions of extremes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hidet import ops
from hidet.errors import NotYet
from hidet.graph import Tensor
from hidet.types import DType, boolean, u8
from hidet_torch.converters.table import aten, torch
from hidet_torch.memory.dtypes import wide

Axes = int | Sequence[int] | None


def chosen(axes: Axes) -> int | tuple[int, ...] | None:
    """Axes as hidet takes them: PyTorch's empty list means all of them."""
    if axes is None or isinstance(axes, int):
        return axes
    return tuple(axes) or None


@torch(aten.sum.dim_IntList)
def sum_axes(
    x: Tensor, axes: Axes = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """The sum over axes."""
    return ops.sum(x, chosen(axes), keepdims=keepdim, dtype=dtype)


@torch(aten.sum.default)
def sum_all(x: Tensor, *, dtype: DType | None = None) -> Tensor:
    """The sum of everything."""
    return ops.sum(x, dtype=dtype)


@torch(aten.mean.dim)
def mean_axes(
    x: Tensor, axes: Axes = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Tensor:
    """The mean over axes."""
    return ops.mean(x, chosen(axes), keepdims=keepdim, dtype=dtype)


@torch(aten.mean.default)
def mean_all(x: Tensor, *, dtype: DType | None = None) -> Tensor:
    """The mean of everything."""
    return ops.mean(x, dtype=dtype)


@torch(aten.prod.default)
def prod_all(x: Tensor, *, dtype: DType | None = None) -> Tensor:
    """The product of everything."""
    return ops.prod(x, dtype=dtype)


@torch(aten.prod.dim_int)
def prod_axis(x: Tensor, axis: int, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """The product over an axis."""
    return ops.prod(x, axis, keepdims=keepdim, dtype=dtype)


@torch(aten.amax.default)
def amax(x: Tensor, axes: Axes = (), keepdim: bool = False) -> Tensor:
    """The largest elements over axes."""
    return ops.max(x, chosen(axes), keepdims=keepdim)


@torch(aten.amin.default)
def amin(x: Tensor, axes: Axes = (), keepdim: bool = False) -> Tensor:
    """The smallest elements over axes."""
    return ops.min(x, chosen(axes), keepdims=keepdim)


@torch(aten.max.default)
def max_all(x: Tensor) -> Tensor:
    """The largest element."""
    return ops.max(x)


@torch(aten.min.default)
def min_all(x: Tensor) -> Tensor:
    """The smallest element."""
    return ops.min(x)


@torch(aten.max.dim)
def max_axis(x: Tensor, axis: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The largest elements over an axis, and where they are."""
    return ops.max(x, axis, keepdims=keepdim), ops.argmax(x, axis, keepdims=keepdim)


@torch(aten.min.dim)
def min_axis(x: Tensor, axis: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The smallest elements over an axis, and where they are."""
    return ops.min(x, axis, keepdims=keepdim), ops.argmin(x, axis, keepdims=keepdim)


@torch(aten.argmax.default)
def argmax(x: Tensor, axis: int | None = None, keepdim: bool = False) -> Tensor:
    """Where the largest element is."""
    return ops.argmax(x, axis, keepdims=keepdim)


@torch(aten.argmin.default)
def argmin(x: Tensor, axis: int | None = None, keepdim: bool = False) -> Tensor:
    """Where the smallest element is."""
    return ops.argmin(x, axis, keepdims=keepdim)


@torch(aten.any.default, aten.any.dim, aten.any.dims)
def any_axes(x: Tensor, axes: Axes = None, keepdim: bool = False) -> Tensor:
    """Whether any element is not zero; as uint8 of uint8."""
    return ops.cast(ops.any(x, chosen(axes), keepdims=keepdim), truth_type(x))


@torch(aten.all.default, aten.all.dim, aten.all.dims)
def all_axes(x: Tensor, axes: Axes = None, keepdim: bool = False) -> Tensor:
    """Whether no element is zero; as uint8 of uint8."""
    return ops.cast(ops.all(x, chosen(axes), keepdims=keepdim), truth_type(x))


def truth_type(x: Tensor) -> DType:
    """The type in which PyTorch answers `any` and `all`."""
    return u8 if x.dtype is u8 else boolean


@torch(aten.var.correction)
def var(
    x: Tensor, axes: Axes = None, *, correction: float | None = None, keepdim: bool = False
) -> Tensor:
    """The variance over axes."""
    return ops.var(x, chosen(axes), correction=degrees(correction), keepdims=keepdim)


@torch(aten.std.correction)
def std(
    x: Tensor, axes: Axes = None, *, correction: float | None = None, keepdim: bool = False
) -> Tensor:
    """The standard deviation over axes."""
    return ops.std(x, chosen(axes), correction=degrees(correction), keepdims=keepdim)


@torch(aten.var_mean.correction)
def var_mean(
    x: Tensor, axes: Axes = None, *, correction: float | None = None, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    """The variance and the mean over axes."""
    return var(x, axes, correction=correction, keepdim=keepdim), mean_axes(x, axes, keepdim)


@torch(aten.std_mean.correction)
def std_mean(
    x: Tensor, axes: Axes = None, *, correction: float | None = None, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean over axes."""
    return std(x, axes, correction=correction, keepdim=keepdim), mean_axes(x, axes, keepdim)


def degrees(correction: float | None) -> float:
    """What is taken from the number of elements; PyTorch's None is 1."""
    return 1 if correction is None else correction


@torch(aten.logsumexp.default)
def logsumexp(x: Tensor, axes: Axes, keepdim: bool = False) -> Tensor:
    """The logarithm of the sum of exponentials."""
    return ops.logsumexp(x, chosen(axes), keepdims=keepdim)


@torch(aten.linalg_vector_norm.default)
def vector_norm(
    x: Tensor,
    order: float = 2,
    axes: Axes = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
) -> Tensor:
    """The p-norm over axes."""
    of = x.dtype if dtype is None else dtype
    found = ops.norm(ops.cast(x, wide(of)), order, chosen(axes), keepdims=keepdim)
    return ops.cast(found, of)


@torch(aten.cumsum.default)
def cumsum(x: Tensor, axis: int, *, dtype: DType | None = None) -> Tensor:
    """Running sums."""
    return ops.cumsum(x, axis, dtype=dtype)


@torch(aten.cumprod.default)
def cumprod(x: Tensor, axis: int, *, dtype: DType | None = None) -> Tensor:
    """Running products."""
    return ops.cumprod(x, axis, dtype=dtype)


@torch(aten._softmax.default)
def softmax(x: Tensor, axis: int, half_to_float: bool) -> Tensor:
    """Exponentials scaled to sum to one."""
    return ops.softmax(ops.cast(x, wide(x.dtype)) if half_to_float else x, axis)


@torch(aten._log_softmax.default)
def log_softmax(x: Tensor, axis: int, half_to_float: bool) -> Tensor:
    """The logarithm of softmax."""
    return ops.log_softmax(ops.cast(x, wide(x.dtype)) if half_to_float else x, axis)


@torch(aten.softmax.int)
def softmax_as(x: Tensor, axis: int, dtype: DType | None = None) -> Tensor:
    """Softmax in the type asked for."""
    return ops.softmax(x if dtype is None else ops.cast(x, dtype), axis)


@torch(aten._safe_softmax.default)
def safe_softmax(x: Tensor, axis: int, dtype: DType | None = None) -> Tensor:
    """Softmax, with zeros along an axis that is -inf throughout."""
    y = softmax_as(x, axis, dtype)
    empty = ops.all(ops.equal(x, float("-inf")), axis, keepdims=True)
    return ops.where(empty, 0, y, dtype=y.dtype)


@torch(aten.count_nonzero.default, aten.count_nonzero.dim_IntList)
def count_nonzero(x: Tensor, axes: Any = None) -> Tensor:
    """How many elements are not zero."""
    return ops.sum(ops.not_equal(x, 0), chosen(axes))


SUMMED = 64
"""Exponentials up to which running sums are computed here; each doubling takes a logarithm of every
element, where PyTorch takes one in all."""


@torch(aten.logcumsumexp.default)
def logcumsumexp(x: Tensor, axis: int) -> Tensor:
    """Running sums of exponentials, as logarithms: each step doubles how many elements are added
    up, so that every sum has its own maximum."""
    if not x.ndim:
        return x
    size = x.shape[axis]
    if not isinstance(size, int) or size > SUMMED:
        raise NotYet(f"running sums of more than {SUMMED} exponentials, or a dynamic number")
    found, reach = ops.cast(x, wide(x.dtype)), 1
    widths = [(0, 0)] * x.ndim
    while reach < size:
        widths[axis] = (reach, -reach)
        found = added(found, ops.pad(found, widths, value=-math.inf))
        reach *= 2
    return ops.cast(found, x.dtype)


def added(x: Tensor, y: Tensor) -> Tensor:
    """log(exp(x) + exp(y)); of two equal infinities their own."""
    high, low = ops.maximum(x, y), ops.minimum(x, y)
    found = high + ops.log1p(ops.exp(low - high))
    return ops.where(ops.logical_and(ops.equal(x, y), ops.isinf(x)), x, found)
