"""Activations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from hidet import ops
from hidet.compute.sizes import product
from hidet.errors import BadArgument
from hidet.graph import Tensor
from hidet_onnx.converters.table import onnx

onnx.rows({"Mish": ops.mish}, since=18)


@onnx("Elu", since=6)
def elu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """x, or alpha * (exp(x) - 1) where x is negative."""
    return ops.elu(x, alpha)


@onnx("Selu", since=6)
def selu(
    x: Tensor, *, alpha: float = 1.6732631921768188, gamma: float = 1.0507010221481323
) -> Tensor:
    """gamma times x, or times alpha * (exp(x) - 1) where x is negative."""
    return ops.elu(x, alpha, scale=gamma)


@onnx("Celu", since=12)
def celu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    return ops.celu(x, alpha)


@onnx("LeakyRelu", since=6)
def leaky_relu(x: Tensor, *, alpha: float = 0.01) -> Tensor:
    """x, times alpha where negative."""
    return ops.leaky_relu(x, alpha)


@onnx("ThresholdedRelu", since=10)
def thresholded_relu(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """x where it is above alpha, else 0."""
    return ops.threshold(x, alpha, 0.0)


@onnx("PRelu", since=7)
def prelu(x: Tensor, slope: Tensor) -> Tensor:
    """x, times slope where negative."""
    return ops.prelu(x, slope)


@onnx("HardSigmoid", since=6)
def hard_sigmoid(x: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    """alpha * x + beta within 0 and 1."""
    return ops.clamp(ops.add(ops.multiply(x, alpha), beta), 0.0, 1.0)


@onnx("HardSwish", since=14)
def hard_swish(x: Tensor) -> Tensor:
    """x times x / 6 + 0.5 within 0 and 1."""
    return ops.hardswish(x)


@onnx("Softplus", since=1)
def softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x))."""
    return ops.softplus(x, threshold=40.0)


@onnx("Gelu", since=20)
def gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    """x times the normal distribution function, exact or by tanh."""
    form: Literal["none", "tanh"]
    if approximate == "none":
        form = "none"
    elif approximate == "tanh":
        form = "tanh"
    else:
        raise BadArgument(f"Gelu knows no approximation {approximate!r}", help="use none or tanh")
    return ops.gelu(x, form)


@onnx("Shrink", since=9)
def shrink(x: Tensor, *, bias: float = 0.0, lambd: float = 0.5) -> Tensor:
    """x moved by `bias` toward zero where it is farther than `lambd` from zero, else 0."""
    above = ops.where(ops.greater(x, lambd), ops.subtract(x, bias), ops.zeros_like(x))
    found = ops.where(ops.less(x, -lambd), ops.add(x, bias), above)
    return ops.cast(found, x.dtype)


@onnx("Swish", since=24)
def swish(x: Tensor, *, alpha: float = 1.0) -> Tensor:
    """x times the sigmoid of alpha * x."""
    return ops.silu(x) if alpha == 1 else ops.multiply(x, ops.sigmoid(ops.multiply(x, alpha)))


@onnx("SwiGLU", since=28)
def swiglu(a: Tensor, b: Tensor, *, alpha: float = 1.0) -> Tensor:
    """The swish of a, times b."""
    return ops.multiply(swish(a, alpha=alpha), b)


@onnx("Softmax", since=13)
def softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    """Exponentials along an axis, scaled to sum to one."""
    return ops.softmax(x, axis)


@onnx("LogSoftmax", since=13)
def log_softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    """The logarithm of softmax."""
    return ops.log_softmax(x, axis)


@onnx("Hardmax", since=13)
def hardmax(x: Tensor, *, axis: int = -1) -> Tensor:
    """1 at the first of the largest elements along an axis, 0 elsewhere."""
    last = axis % x.ndim
    along = [1] * x.ndim
    along[last] = -1
    number = ops.reshape(ops.iota(x.shape[last], device=x.device), along)
    return ops.cast(ops.equal(number, ops.argmax(x, last, keepdims=True)), x.dtype)


def of_rows(name: str, function: Callable[..., Tensor]) -> None:
    """File the version before 13, which took all axes from `axis` on as one."""

    def convert(x: Tensor, *, axis: int = 1) -> Tensor:
        first = axis % x.ndim if x.ndim else 0
        flat = ops.reshape(x, (*x.shape[:first], product(x.shape[first:])))
        return ops.reshape(function(flat, axis=-1), x.shape)

    convert.__name__, convert.__doc__ = name.lower(), f"{name} over the axes from `axis` on."
    onnx(name, since=1)(convert)


of_rows("Softmax", softmax)
of_rows("LogSoftmax", log_softmax)
of_rows("Hardmax", hardmax)
