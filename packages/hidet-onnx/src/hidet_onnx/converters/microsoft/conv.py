"""Operators of ONNX Runtime's own domain that are a standard one and an activation."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.errors import BadArgument
from hidet.graph import Tensor
from hidet_onnx.converters.conv import conv
from hidet_onnx.converters.matmul import gemm
from hidet_onnx.converters.microsoft.activation import fused_matmul
from hidet_onnx.converters.pool import max_pool
from hidet_onnx.converters.table import microsoft


def activated(x: Tensor, name: str, given: Sequence[float]) -> Tensor:
    """What an activation with these parameters makes of x; of no name, x itself."""
    first, second = (*given, 0.0, 0.0)[:2]
    if not name:
        return x
    if name == "LeakyRelu":
        return ops.leaky_relu(x, first)
    if name == "Clip":
        return ops.clamp(x, first, second)
    if name == "HardSigmoid":
        return ops.clamp(ops.add(ops.multiply(x, first), second), 0.0, 1.0)
    plain = {"Relu": ops.relu, "Tanh": ops.tanh, "Sigmoid": ops.sigmoid}
    if name not in plain:
        raise BadArgument(f"there is no fused activation {name!r}")
    return plain[name](x)


@microsoft("FusedConv")
def fused_conv(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, other: Tensor | None = None, *,
    activation: str = "", activation_params: Sequence[float] | None = None,
    auto_pad: str = "NOTSET", dilations: Sequence[int] | None = None, group: int = 1,
    kernel_shape: Sequence[int] | None = None, pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """A convolution, plus another tensor, and the activation of it."""
    found = conv(
        x, weight, bias, auto_pad=auto_pad, dilations=dilations, group=group,
        kernel_shape=kernel_shape, pads=pads, strides=strides,
    )  # fmt: skip
    total = found if other is None else ops.add(found, other)
    return activated(total, activation, activation_params or ())


@microsoft("NhwcConv")
def nhwc_conv(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *, auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None, group: int = 1,
    kernel_shape: Sequence[int] | None = None, pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """A convolution of x[n, ..., c] with weight[k, ..., c / group], whose channels are last."""
    return nhwc_fused_conv(
        x, weight, bias, auto_pad=auto_pad, dilations=dilations, group=group,
        kernel_shape=kernel_shape, pads=pads, strides=strides,
    )  # fmt: skip


@microsoft("NhwcFusedConv")
def nhwc_fused_conv(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, other: Tensor | None = None, *,
    activation: str = "", activation_params: Sequence[float] | None = None,
    auto_pad: str = "NOTSET", dilations: Sequence[int] | None = None, group: int = 1,
    kernel_shape: Sequence[int] | None = None, pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """FusedConv of tensors whose channels are last."""
    found = fused_conv(
        channels_second(x), channels_second(weight), bias,
        None if other is None else channels_second(other), activation=activation,
        activation_params=activation_params, auto_pad=auto_pad, dilations=dilations, group=group,
        kernel_shape=kernel_shape, pads=pads, strides=strides,
    )  # fmt: skip
    return channels_last(found)


@microsoft("NhwcMaxPool")
def nhwc_max_pool(
    x: Tensor, *, auto_pad: str = "NOTSET", ceil_mode: int = 0,
    dilations: Sequence[int] | None = None, kernel_shape: Sequence[int],
    pads: Sequence[int] | None = None, strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """The largest element of each window of a tensor whose channels are last."""
    found = max_pool(
        channels_second(x), kernel_shape=kernel_shape, auto_pad=auto_pad, ceil_mode=ceil_mode,
        dilations=dilations, pads=pads, strides=strides,
    )  # fmt: skip
    return channels_last(found[0])


def channels_second(x: Tensor) -> Tensor:
    """The last axis behind the first."""
    return ops.permute(x, (0, x.ndim - 1, *range(1, x.ndim - 1)))


def channels_last(x: Tensor) -> Tensor:
    """The second axis behind all others."""
    return ops.permute(x, (0, *range(2, x.ndim), 1))


@microsoft("FusedGemm")
def fused_gemm(
    a: Tensor, b: Tensor, c: Tensor | None = None, *, activation: str = "",
    activation_alpha: float = 0.0, activation_beta: float = 0.0, activation_gamma: float = 0.0,
    alpha: float = 1.0, beta: float = 1.0, transA: int = 0, transB: int = 0,
) -> Tensor:  # fmt: skip
    """The activation of alpha * a @ b + beta * c."""
    found = gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)
    return activated(found, activation, (activation_alpha, activation_beta))


@microsoft("FusedMatMulActivation")
def fused_matmul_activation(
    a: Tensor, b: Tensor, *, activation: str, activation_alpha: float = 0.0,
    activation_axis: int = 0, activation_beta: float = 0.0, activation_gamma: float = 0.0,
    alpha: float = 1.0, transA: int = 0, transB: int = 0, transBatchA: int = 0,
    transBatchB: int = 0,
) -> Tensor:  # fmt: skip
    """The activation of FusedMatMul."""
    found = fused_matmul(
        a, b, alpha=alpha, transA=transA, transB=transB, transBatchA=transBatchA,
        transBatchB=transBatchB,
    )  # fmt: skip
    return activated(found, activation, (activation_alpha, activation_beta))
