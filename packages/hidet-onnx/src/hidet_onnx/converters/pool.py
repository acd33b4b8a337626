"""Pooling over windows, and over whole planes."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.compute.sizes import product, tidy
from hidet.errors import BadArgument
from hidet.frontend.importing.operands import numbers
from hidet.graph import Tensor
from hidet.types import i64
from hidet_onnx.converters.here import here
from hidet_onnx.converters.table import onnx
from hidet_onnx.converters.windows import each, explicit, padding


@onnx("MaxPool", since=1)
def max_pool(
    x: Tensor, *, kernel_shape: Sequence[int], auto_pad: str = "NOTSET", ceil_mode: int = 0,
    dilations: Sequence[int] | None = None, pads: Sequence[int] | None = None,
    storage_order: int = 0, strides: Sequence[int] | None = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The largest element of each window, and where in the whole flattened x it is."""
    rank = x.ndim - 2
    steps, apart = each(strides, rank), each(dilations, rank)
    sides = padding(auto_pad, pads, x.shape[2:], tuple(kernel_shape), steps, apart)
    options = {"stride": steps, "padding": sides, "dilation": apart, "ceil_mode": bool(ceil_mode)}
    if here().results < 2:
        return (ops.max_pool(x, kernel_shape, **options),)  # type: ignore[arg-type]
    found, where = ops.max_pool_with_indices(x, kernel_shape, **options)  # type: ignore[arg-type]
    if storage_order:
        where = by_columns(where, x)
    planes = ops.iota(product(x.shape[:2]), dtype=i64, device=x.device)
    first = ops.reshape(planes * product(x.shape[2:]), (*x.shape[:2], *(1,) * rank))
    return found, ops.add(where, first)


def by_columns(where: Tensor, x: Tensor) -> Tensor:
    """Places in a plane stored by rows as places in one stored by columns."""
    found, rest = None, where
    for axis in reversed(range(2, x.ndim)):
        size = x.shape[axis]
        place = ops.remainder(rest, size)
        rest = ops.floor_divide(rest, size)
        scale = product(x.shape[2:axis])
        found = place * scale if found is None else ops.add(found, place * scale)
    return where if found is None else found


@onnx("AveragePool", since=1)
def average_pool(
    x: Tensor, *, kernel_shape: Sequence[int], auto_pad: str = "NOTSET", ceil_mode: int = 0,
    count_include_pad: int = 0, dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None, strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window."""
    rank = x.ndim - 2
    steps, apart = each(strides, rank), each(dilations, rank)
    sides = padding(auto_pad, pads, x.shape[2:], tuple(kernel_shape), steps, apart)
    return ops.avg_pool(
        x, kernel_shape, stride=steps, padding=sides, ceil_mode=bool(ceil_mode),
        count_include_pad=bool(count_include_pad), dilation=apart,
    )  # fmt: skip


@onnx("LpPool", since=2)
def lp_pool(
    x: Tensor, *, kernel_shape: Sequence[int], auto_pad: str = "NOTSET", ceil_mode: int = 0,
    dilations: Sequence[int] | None = None, p: int = 2, pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """The p-norm of each window."""
    rank = x.ndim - 2
    steps, apart = each(strides, rank), each(dilations, rank)
    sides = padding(auto_pad, pads, x.shape[2:], tuple(kernel_shape), steps, apart)
    return ops.lp_pool(
        x, kernel_shape, p=p, stride=steps, padding=sides, dilation=apart,
        ceil_mode=bool(ceil_mode),
    )  # fmt: skip


@onnx("LpPool", since=1)
def lp_pool_before_2(
    x: Tensor, *, kernel_shape: Sequence[int] | None = None, auto_pad: str = "NOTSET",
    p: float = 2.0, pads: Sequence[int] | None = None, strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """The same; p is a number with a fraction."""
    if kernel_shape is None:
        raise BadArgument("LpPool has no kernel_shape")
    return lp_pool(
        x, kernel_shape=kernel_shape, auto_pad=auto_pad, p=int(p), pads=pads, strides=strides
    )


@onnx("GlobalAveragePool", since=1)
def global_average_pool(x: Tensor) -> Tensor:
    """The mean of each channel."""
    return ops.mean(x, tuple(range(2, x.ndim)), keepdims=True)


@onnx("GlobalMaxPool", since=1)
def global_max_pool(x: Tensor) -> Tensor:
    """The largest element of each channel."""
    return ops.max(x, tuple(range(2, x.ndim)), keepdims=True)


@onnx("GlobalLpPool", since=2)
def global_lp_pool(x: Tensor, *, p: int = 2) -> Tensor:
    """The p-norm of each channel."""
    return ops.norm(x, p, tuple(range(2, x.ndim)), keepdims=True)


@onnx("GlobalLpPool", since=1)
def global_lp_pool_before_2(x: Tensor, *, p: float = 2.0) -> Tensor:
    """The same; p is a number with a fraction."""
    return global_lp_pool(x, p=p)  # type: ignore[arg-type]


@onnx("MaxUnpool", since=9)
def max_unpool(
    x: Tensor, where: Tensor, output_shape: Tensor | None = None, *,
    kernel_shape: Sequence[int], pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Zeros, with the elements of x where `where` says in the flattened result.

    Places count in the result that pooling's attributes tell; `output_shape` adds zeros after it,
    as onnx's reference has it.
    """
    rank = x.ndim - 2
    steps, sides = each(strides, rank), explicit(pads, rank)
    sizes = [
        tidy((size - 1) * step - before - after + window)
        for size, step, (before, after), window in zip(
            x.shape[2:], steps, sides, kernel_shape, strict=True
        )
    ]
    found = ops.max_unpool(x, where, sizes)
    if output_shape is None:
        return found
    wanted = numbers(output_shape)
    return ops.pad(found, [(0, tidy(w - s)) for w, s in zip(wanted, found.shape, strict=True)])
