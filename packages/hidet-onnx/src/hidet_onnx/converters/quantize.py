"""Quantised tensors: scales and zero points of a tensor, of an axis or of blocks of it."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.graph import Tensor
from hidet.ops.quantized.quantize import for_each
from hidet.types import f32, f64, u8
from hidet_onnx.converters.cast import FLOAT8, saturated
from hidet_onnx.converters.table import onnx
from hidet_onnx.converters.windows import each, padding
from hidet_onnx.dtypes import element


@onnx("DequantizeLinear", since=10)
def dequantize_linear(
    x: Tensor, scale: Tensor, zero_point: Tensor | None = None, *, axis: int = 1,
    block_size: int = 0, output_dtype: int = 0,
) -> Tensor:  # fmt: skip
    """(x - zero_point) * scale."""
    result = element(output_dtype) if output_dtype else scale.dtype
    return ops.dequantize(x, scale, zero_point, dtype=result, axis=axis, block=block_size)


@onnx("QuantizeLinear", since=10)
def quantize_linear(
    x: Tensor, scale: Tensor, zero_point: Tensor | None = None, *, axis: int = 1,
    block_size: int = 0, output_dtype: int = 0, precision: int = 0, saturate: int = 1,
) -> Tensor:  # fmt: skip
    """x / scale + zero_point, rounded to the nearest, as a narrow type; that of float8 is 0.

    The quotient is a float32 or float64, whatever less `precision` asks for.
    """
    if zero_point is not None:
        result = zero_point.dtype
    else:
        result = element(output_dtype) if output_dtype else u8
    asked = element(precision) if precision else f32
    wide = f64 if f64 in (x.dtype, scale.dtype, asked) else f32
    if result.is_integer:
        exact = ops.cast(x, f64) if wide is f64 else x
        return ops.quantize(exact, scale, zero_point, dtype=result, axis=axis, block=block_size)
    real = ops.divide(ops.cast(x, wide), ops.cast(for_each(scale, x, axis, block_size), wide))
    if result in FLOAT8:
        return saturated(real, result, saturate)
    if zero_point is not None:
        real = ops.add(real, ops.cast(for_each(zero_point, x, axis, block_size), wide))
    return ops.cast(real, result)


@onnx("MatMulInteger", since=10)
def matmul_integer(
    a: Tensor, b: Tensor, a_zero: Tensor | None = None, b_zero: Tensor | None = None
) -> Tensor:
    """The product of integers less their zero points, in int32."""
    return ops.matmul_integer(a, b, a_zero, b_zero)


@onnx("QLinearMatMul", since=10)
def qlinear_matmul(
    a: Tensor, a_scale: Tensor, a_zero: Tensor, b: Tensor, b_scale: Tensor, b_zero: Tensor,
    y_scale: Tensor, y_zero: Tensor,
) -> Tensor:  # fmt: skip
    """The product of two quantised matrices, quantised; zero points of float8 are 0."""
    scale = ops.multiply(by_axis(a_scale, -2), by_axis(b_scale, -1))
    if y_zero.dtype in FLOAT8:
        factor = ops.divide(scale, ops.cast(ops.reshape(y_scale, ()), f32))
        total = ops.matmul(ops.cast(a, f32), ops.cast(b, f32))
        return saturated(ops.multiply(total, factor), y_zero.dtype, saturate=1)
    return requantized(ops.matmul_integer(a, b, a_zero, b_zero), scale, y_scale, y_zero)


def by_axis(scale: Tensor, axis: int) -> Tensor:
    """A scale in float32, one for all or one for each place on an axis."""
    wide = ops.cast(scale, f32)
    if wide.size == 1:
        return ops.reshape(wide, ())
    return ops.reshape(wide, (-1, *(1,) * (-1 - axis))) if wide.ndim == 1 else wide


def requantized(total: Tensor, scale: Tensor, y_scale: Tensor, y_zero: Tensor) -> Tensor:
    """Sums of products, each `scale`, as a narrow type."""
    factor = ops.divide(scale, ops.cast(ops.reshape(y_scale, ()), f32))
    real = ops.multiply(ops.cast(total, f32), factor)
    return ops.quantize(real, ops.ones((), f32, device=real.device), y_zero)


@onnx("ConvInteger", since=10)
def conv_integer(
    x: Tensor, weight: Tensor, x_zero: Tensor | None = None, w_zero: Tensor | None = None, *,
    auto_pad: str = "NOTSET", dilations: Sequence[int] | None = None, group: int = 1,
    kernel_shape: Sequence[int] | None = None, pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """The convolution of integers less their zero points, in int32; padding is the zero point."""
    rank = x.ndim - 2
    steps, apart = each(strides, rank), each(dilations, rank)
    sides = padding(auto_pad, pads, x.shape[2:], weight.shape[2:], steps, apart)
    return ops.conv_integer(
        x, weight, x_zero, w_zero, stride=steps, padding=sides, dilation=apart, groups=group
    )


@onnx("QLinearConv", since=10)
def qlinear_conv(
    x: Tensor, x_scale: Tensor, x_zero: Tensor, weight: Tensor, w_scale: Tensor, w_zero: Tensor,
    y_scale: Tensor, y_zero: Tensor, bias: Tensor | None = None, *,
    auto_pad: str = "NOTSET", dilations: Sequence[int] | None = None, group: int = 1,
    kernel_shape: Sequence[int] | None = None, pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """The convolution of a quantised tensor with quantised weights, quantised."""
    total = conv_integer(
        x, weight, x_zero, w_zero, auto_pad=auto_pad, dilations=dilations, group=group,
        pads=pads, strides=strides,
    )  # fmt: skip
    channels = (-1, *(1,) * (x.ndim - 2))
    if bias is not None:
        total = ops.add(total, ops.reshape(bias, channels))
    of_weight = ops.cast(w_scale, f32)
    of_weight = ops.reshape(of_weight, () if of_weight.size == 1 else channels)
    scale = ops.multiply(ops.cast(ops.reshape(x_scale, ()), f32), of_weight)
    return requantized(total, scale, y_scale, y_zero)


@onnx("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """x as uint8 by the range of its elements, with its scale and zero point."""
    high, low = ops.maximum(ops.max(x), 0.0), ops.minimum(ops.min(x), 0.0)
    scale = ops.divide(ops.subtract(high, low), 255.0)
    safe = ops.where(ops.equal(scale, 0.0), ops.ones_like(scale), scale)
    start = ops.round(ops.clamp(ops.divide(ops.negative(low), safe), 0.0, 255.0))
    zero = ops.cast(start, u8)
    return quantize_linear(x, scale, zero), scale, zero
