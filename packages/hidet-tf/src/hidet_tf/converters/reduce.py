"""Reductions over axes, and running ones along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable

from hidet import ops
from hidet.compute.sizes import product as product_of
from hidet.frontend.importing.operands import integer, integers
from hidet.graph import Tensor
from hidet.types import DType, i64
from hidet_tf.converters.table import tf

Reduction = Callable[[Tensor, tuple[int, ...], bool], Tensor]


def total(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """The sum, in the operand's type."""
    return ops.sum(x, axes, keepdims=keepdims, dtype=x.dtype)


def product(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """The product, in the operand's type."""
    return ops.prod(x, axes, keepdims=keepdims, dtype=x.dtype)


def mean(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """The mean; of integers the sum in their type over the count, toward zero."""
    if x.dtype.is_float:
        return ops.mean(x, axes, keepdims=keepdims)
    count = ops.size_value(product_of([x.shape[axis] for axis in axes]), device=x.device)
    quotient = ops.trunc_divide(ops.cast(total(x, axes, keepdims), i64), count)
    return ops.cast(quotient, x.dtype)


def norm(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """The root of the sum of squares."""
    return ops.sqrt(total(ops.square(x), axes, keepdims))


REDUCTIONS: dict[str, Reduction] = {
    "Sum": total,
    "Prod": product,
    "Mean": mean,
    "EuclideanNorm": norm,
    "Max": lambda x, axes, keep: ops.max(x, axes, keepdims=keep),
    "Min": lambda x, axes, keep: ops.min(x, axes, keepdims=keep),
    "Any": lambda x, axes, keep: ops.any(x, axes, keepdims=keep),
    "All": lambda x, axes, keep: ops.all(x, axes, keepdims=keep),
}


def reduction(name: str, function: Reduction) -> None:
    """File a reduction over axes that an operand lists; over none where it lists none."""

    def convert(x: Tensor, axes: Tensor, *, keep_dims: bool) -> Tensor:
        chosen = tuple(sorted({axis % x.ndim for axis in integers(axes)}))
        return function(x, chosen, keep_dims)

    convert.__name__, convert.__doc__ = name.lower(), f"{name} over axes."
    tf(name)(convert)


for _name, _function in REDUCTIONS.items():
    reduction(_name, _function)


@tf("ArgMax")
def argmax(x: Tensor, axis: Tensor, *, output_type: DType) -> Tensor:
    """Where the largest element is, the first of several; NaN is none."""
    return ops.cast(ops.argmax(without_nan(x, -math.inf), integer(axis)), output_type)


@tf("ArgMin")
def argmin(x: Tensor, axis: Tensor, *, output_type: DType) -> Tensor:
    """Where the smallest element is, the first of several; NaN is none."""
    return ops.cast(ops.argmin(without_nan(x, math.inf), integer(axis)), output_type)


def without_nan(x: Tensor, instead: float) -> Tensor:
    """x with another number for NaN."""
    return ops.where(ops.isnan(x), instead, x, dtype=x.dtype) if x.dtype.is_float else x


def running(name: str, function: Callable[..., Tensor]) -> None:
    """File a running reduction; `exclusive` leaves each element itself out."""

    def convert(x: Tensor, axis: Tensor, *, exclusive: bool, reverse: bool) -> Tensor:
        return function(x, integer(axis), dtype=x.dtype, exclusive=exclusive, reverse=reverse)

    convert.__name__, convert.__doc__ = name.lower(), f"{name} along an axis."
    tf(name)(convert)


running("Cumsum", ops.cumsum)
running("Cumprod", ops.cumprod)


@tf("CumulativeLogsumexp")
def cumulative_logsumexp(x: Tensor, axis: Tensor, *, exclusive: bool, reverse: bool) -> Tensor:
    """The logarithm of the running sum of exponentials; of none -inf."""
    along = integer(axis)
    turned = ops.flip(x, along) if reverse else x
    most, _ = ops.cummax(turned, along)
    # About each running maximum, so that no exponential overflows: exp(x - m) for each pair.
    rows = ops.unsqueeze(ops.transpose(turned, along, -1), -2)
    maxima = ops.unsqueeze(ops.transpose(most, along, -1), -1)
    exponentials = ops.sum(ops.tril(ops.exp(ops.minimum(ops.subtract(rows, maxima), 0.0))), -1)
    found = ops.add(ops.log(ops.transpose(exponentials, along, -1)), most)
    if exclusive:
        kept = ops.slice(found, along, 0, -1)
        found = ops.concat([ops.full_like(ops.slice(x, along, 0, 1), -math.inf), kept], along)
    return ops.flip(found, along) if reverse else found
