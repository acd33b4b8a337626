"""Reductions over axes, and running ones along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hidet import ops
from hidet.compute.sizes import equal
from hidet.frontend.importing.operands import integer, integers
from hidet.graph import Tensor
from hidet.types import boolean, f64
from hidet_onnx.converters.table import onnx

Reduction = Callable[[Tensor, tuple[int, ...], bool], Tensor]


def total(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """The sum, in the operand's type."""
    return ops.sum(x, axes, keepdims=keepdims, dtype=x.dtype)


def product(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """The product, in the operand's type."""
    return ops.prod(x, axes, keepdims=keepdims, dtype=x.dtype)


def mean(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """The mean; of integers toward zero."""
    if x.dtype.is_float:
        return ops.mean(x, axes, keepdims=keepdims)
    return ops.cast(ops.mean(x, axes, keepdims=keepdims, dtype=f64), x.dtype)


def largest(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """The largest element, of none the least there is; of truths whether any holds."""
    if x.dtype is boolean:
        return ops.any(x, axes, keepdims=keepdims)
    low = -math.inf if x.dtype.is_float else x.dtype.limits[0]
    return ops.max(with_one(x, axes, low), axes, keepdims=keepdims)


def smallest(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """The smallest element, of none the greatest there is; of truths whether all hold."""
    if x.dtype is boolean:
        return ops.all(x, axes, keepdims=keepdims)
    high = math.inf if x.dtype.is_float else x.dtype.limits[1]
    return ops.min(with_one(x, axes, high), axes, keepdims=keepdims)


def with_one(x: Tensor, axes: tuple[int, ...], value: float) -> Tensor:
    """x, with one element of this value along each axis that has none."""
    widths = [(0, int(axis in axes and bool(equal(size, 0)))) for axis, size in enumerate(x.shape)]
    return ops.pad(x, widths, value=value) if any(after for _, after in widths) else x


def in_floats(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """The function of integers too, whose result is cut to their type."""

    def compute(x: Tensor) -> Tensor:
        return ops.cast(function(x if x.dtype.is_float else ops.cast(x, f64)), x.dtype)

    return compute


root, logarithm = in_floats(ops.sqrt), in_floats(ops.log)


def log_sum_exp(x: Tensor, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    """The logarithm of the sum of exponentials."""
    wide = x if x.dtype.is_float else ops.cast(x, f64)
    return ops.cast(ops.logsumexp(wide, axes, keepdims=keepdims), x.dtype)


REDUCTIONS: dict[str, Reduction] = {
    "ReduceSum": total,
    "ReduceProd": product,
    "ReduceMean": mean,
    "ReduceMax": largest,
    "ReduceMin": smallest,
    "ReduceL1": lambda x, axes, keep: total(ops.absolute(x), axes, keep),
    "ReduceL2": lambda x, axes, keep: root(total(ops.square(x), axes, keep)),
    "ReduceSumSquare": lambda x, axes, keep: total(ops.square(x), axes, keep),
    "ReduceLogSum": lambda x, axes, keep: logarithm(total(x, axes, keep)),
    "ReduceLogSumExp": log_sum_exp,
}


def reduced(
    function: Reduction, x: Tensor, axes: Sequence[int] | None, keepdims: int, noop: int = 0
) -> Tensor:
    """A reduction over the axes; over all where none are given, or none at all by `noop`."""
    if not axes:
        chosen: tuple[int, ...] = () if noop else tuple(range(x.ndim))
    else:
        chosen = tuple(sorted({axis + x.ndim if axis < 0 else axis for axis in axes}))
    return function(x, chosen, bool(keepdims))


def reduction(name: str, function: Reduction, since: int) -> None:
    """File a reduction whose axes are an attribute, and since `since` an operand."""

    def by_attribute(x: Tensor, *, axes: Sequence[int] | None = None, keepdims: int = 1) -> Tensor:
        return reduced(function, x, axes, keepdims)

    def by_operand(
        x: Tensor, axes: Tensor | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0
    ) -> Tensor:
        given = None if axes is None else integers(axes)
        return reduced(function, x, given, keepdims, noop_with_empty_axes)

    for each, version in ((by_attribute, 1), (by_operand, since)):
        each.__name__, each.__doc__ = name.lower(), f"{name} over axes."
        onnx(name, since=version)(each)


for _name, _function in REDUCTIONS.items():
    reduction(_name, _function, 13 if _name == "ReduceSum" else 18)


def arg(name: str, function: Callable[..., Tensor]) -> None:
    """File an operator that gives the place of an extreme."""

    def convert(
        x: Tensor, *, axis: int = 0, keepdims: int = 1, select_last_index: int = 0
    ) -> Tensor:
        if not select_last_index:
            return function(x, axis, keepdims=bool(keepdims))
        first = function(ops.flip(x, axis), axis, keepdims=bool(keepdims))
        last = ops.size_value(x.shape[axis], device=x.device)
        return ops.subtract(ops.subtract(last, 1), first)

    convert.__name__, convert.__doc__ = name.lower(), f"{name}: the first place, or the last."
    onnx(name, since=1)(convert)


arg("ArgMax", ops.argmax)
arg("ArgMin", ops.argmin)


def running(name: str, function: Callable[..., Tensor], since: int) -> None:
    """File a running reduction; `exclusive` leaves each element itself out."""

    def convert(x: Tensor, axis: Tensor, *, exclusive: int = 0, reverse: int = 0) -> Tensor:
        options = {"exclusive": bool(exclusive), "reverse": bool(reverse)}
        return function(x, integer(axis), dtype=x.dtype, **options)

    convert.__name__, convert.__doc__ = name.lower(), f"{name} along an axis."
    onnx(name, since=since)(convert)


running("CumSum", ops.cumsum, 11)
running("CumProd", ops.cumprod, 26)
