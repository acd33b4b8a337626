"""Operators on quantised tensors: what the standard operator gives of the real numbers, quantised.

Scales and zero points are one number for a whole tensor. Dequantising and quantising are fused with
the operator between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hidet import ops
from hidet.errors import BadArgument
from hidet.graph import Tensor
from hidet_onnx.converters.microsoft.conv import channels_last as to_channels_last
from hidet_onnx.converters.microsoft.conv import channels_second
from hidet_onnx.converters.pool import average_pool, global_average_pool
from hidet_onnx.converters.quantize import qlinear_conv
from hidet_onnx.converters.table import microsoft, table


def real(x: Tensor, scale: Tensor, zero: Tensor | None) -> Tensor:
    """The numbers that a quantised tensor stands for."""
    return ops.dequantize(x, scale, zero)


def narrow(x: Tensor, scale: Tensor, zero: Tensor | None, like: Tensor) -> Tensor:
    """Numbers quantised to the type of another tensor."""
    return ops.quantize(x, scale, zero, dtype=like.dtype)


@microsoft("QLinearAdd")
def qlinear_add(
    a: Tensor, a_scale: Tensor, a_zero: Tensor | None, b: Tensor, b_scale: Tensor,
    b_zero: Tensor | None, scale: Tensor, zero: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """a + b."""
    return narrow(ops.add(real(a, a_scale, a_zero), real(b, b_scale, b_zero)), scale, zero, a)


@microsoft("QLinearMul")
def qlinear_mul(
    a: Tensor, a_scale: Tensor, a_zero: Tensor | None, b: Tensor, b_scale: Tensor,
    b_zero: Tensor | None, scale: Tensor, zero: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """a * b."""
    return narrow(ops.multiply(real(a, a_scale, a_zero), real(b, b_scale, b_zero)), scale, zero, a)


@microsoft("QLinearWhere")
def qlinear_where(
    condition: Tensor, x: Tensor, x_scale: Tensor, x_zero: Tensor, y: Tensor, y_scale: Tensor,
    y_zero: Tensor, scale: Tensor, zero: Tensor,
) -> Tensor:  # fmt: skip
    """x where the condition holds, y elsewhere."""
    found = ops.where(condition, real(x, x_scale, x_zero), real(y, y_scale, y_zero))
    return narrow(found, scale, zero, x)


@microsoft("QLinearConcat")
def qlinear_concat(scale: Tensor, zero: Tensor, *given: Tensor, axis: int) -> Tensor:
    """Tensors, each with its scale and zero point, one after the other."""
    if not given or len(given) % 3:
        raise BadArgument(f"{len(given)} operands are not tensors with scales and zero points")
    each = [real(*given[first : first + 3]) for first in range(0, len(given), 3)]
    return narrow(ops.concat(each, axis), scale, zero, zero)


@microsoft("QLinearSigmoid")
def qlinear_sigmoid(
    x: Tensor, x_scale: Tensor, x_zero: Tensor | None, scale: Tensor, zero: Tensor | None = None
) -> Tensor:
    """The sigmoid of x."""
    return narrow(ops.sigmoid(real(x, x_scale, x_zero)), scale, zero, x)


@microsoft("QLinearLeakyRelu")
def qlinear_leaky_relu(
    x: Tensor, x_scale: Tensor, x_zero: Tensor | None, scale: Tensor, zero: Tensor | None = None,
    *, alpha: float = 0.01,
) -> Tensor:  # fmt: skip
    """x where it is positive, alpha * x elsewhere."""
    return narrow(ops.leaky_relu(real(x, x_scale, x_zero), alpha), scale, zero, x)


@microsoft("QLinearSoftmax")
def qlinear_softmax(
    x: Tensor, x_scale: Tensor, x_zero: Tensor | None, scale: Tensor, zero: Tensor, *,
    axis: int = -1, opset: int,
) -> Tensor:  # fmt: skip
    """The softmax of x, along an axis or, as before opset 13, from an axis on."""
    compute = table.find(("", "Softmax"), opset)
    if compute is None:
        raise BadArgument(f"there is no Softmax of opset {opset}")
    return narrow(compute(real(x, x_scale, x_zero), axis=axis), scale, zero, x)


@microsoft("QLinearReduceMean")
def qlinear_reduce_mean(
    x: Tensor, x_scale: Tensor, x_zero: Tensor | None, scale: Tensor, zero: Tensor | None = None,
    *, axes: Sequence[int], keepdims: int,
) -> Tensor:  # fmt: skip
    """The mean along axes."""
    found = ops.mean(real(x, x_scale, x_zero), tuple(axes), keepdims=bool(keepdims))
    return narrow(found, scale, zero, x)


@microsoft("QLinearAveragePool")
def qlinear_average_pool(
    x: Tensor, x_scale: Tensor, x_zero: Tensor | None, scale: Tensor, zero: Tensor | None = None,
    *, auto_pad: str = "NOTSET", ceil_mode: int = 0, channels_last: int = 0,
    count_include_pad: int = 0, kernel_shape: Sequence[int], pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window."""

    def pool(of: Tensor) -> Tensor:
        return average_pool(
            of, kernel_shape=kernel_shape, auto_pad=auto_pad, ceil_mode=ceil_mode,
            count_include_pad=count_include_pad, pads=pads, strides=strides,
        )  # fmt: skip

    return narrow(as_channels_second(pool, real(x, x_scale, x_zero), channels_last), scale, zero, x)


@microsoft("QLinearGlobalAveragePool")
def qlinear_global_average_pool(
    x: Tensor, x_scale: Tensor, x_zero: Tensor, scale: Tensor, zero: Tensor, *,
    channels_last: int = 0,
) -> Tensor:  # fmt: skip
    """The mean of each channel."""
    given = real(x, x_scale, x_zero)
    return narrow(as_channels_second(global_average_pool, given, channels_last), scale, zero, x)


@microsoft("QLinearConv")
def qlinear_conv_of_either_layout(
    x: Tensor, x_scale: Tensor, x_zero: Tensor, weight: Tensor, w_scale: Tensor, w_zero: Tensor,
    scale: Tensor, zero: Tensor, bias: Tensor | None = None, *,
    auto_pad: str = "NOTSET", channels_last: int = 0, dilations: Sequence[int] | None = None,
    group: int = 1, kernel_shape: Sequence[int] | None = None, pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """The convolution of x with weight[k, c / group, ...]; with `channels_last` x has them so."""

    def convolve(of: Tensor) -> Tensor:
        return qlinear_conv(
            of, x_scale, x_zero, weight, w_scale, w_zero, scale, zero, bias, auto_pad=auto_pad,
            dilations=dilations, group=group, kernel_shape=kernel_shape, pads=pads,
            strides=strides,
        )  # fmt: skip

    return as_channels_second(convolve, x, channels_last)


def as_channels_second(
    compute: Callable[[Tensor], Tensor], x: Tensor, channels_last: int
) -> Tensor:
    """What a function of images gives, whose channels are second or, if so said, last."""
    if not channels_last:
        return compute(x)
    return to_channels_last(compute(channels_second(x)))
