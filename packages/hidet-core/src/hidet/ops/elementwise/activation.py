"""Activation functions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self

import numpy as np

from hidet.compute import Grid, arithmetic, elementwise, grid, maximum, minimum, select
from hidet.compute import functions as f
from hidet.errors import BadArgument, DtypeMismatch
from hidet.graph import Op, Tensor, apply, family, operator
from hidet.ir.expr import Expr
from hidet.ops.elementwise.families import FLOAT, binary, unary
from hidet.ops.elementwise.unary import erf_array
from hidet.types import TensorType, bf16, f16, f32, f64

# SELU's constants, Klambauer et al. 2017, arXiv 1706.02515.
SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


def sigmoid_of(v: Any) -> Any:
    """1 / (1 + exp(-v))."""
    return 1.0 / (1.0 + f.exp(-v))


def clamped(v: Expr, low: float, high: float) -> Expr:
    """v within bounds; NaN stays NaN."""
    return minimum(maximum(v, low), high)


def log1p_exp(v: Any) -> Any:
    """log(1 + exp(v)) without overflow."""
    return maximum(v, 0.0) + f.log1p(f.exp(-f.absolute(v)))


relu = unary(
    "relu", "max(x, 0); NaN stays NaN.",
    lambda v: select(v <= 0, 0, v), lambda x: np.where(x <= 0, 0, x), continuous=True,
)  # fmt: skip
relu6 = unary(
    "relu6", "min(max(x, 0), 6); NaN stays NaN.",
    lambda v: minimum(maximum(v, 0), 6), lambda x: np.clip(x, 0, 6), within=(-3, 9),
)  # fmt: skip
sigmoid = unary(
    "sigmoid", "1 / (1 + exp(-x)).", sigmoid_of, lambda x: 1 / (1 + np.exp(-x)),
    gives="float", within=(-20, 20), factor=16,
)  # fmt: skip
log_sigmoid = unary(
    "log_sigmoid", "log(sigmoid(x)), without overflow.", lambda v: -log1p_exp(-v),
    lambda x: -np.logaddexp(0, -x), dtypes=FLOAT, within=(-20, 20), factor=16,
)  # fmt: skip
silu = unary(
    "silu", "x * sigmoid(x).", lambda v: v / (1.0 + f.exp(-v)),
    lambda x: x / (1 + np.exp(-x)), dtypes=FLOAT, within=(-10, 10), factor=16,
)  # fmt: skip
mish = unary(
    "mish", "x * tanh(softplus(x)).", lambda v: v * f.tanh(log1p_exp(v)),
    lambda x: x * np.tanh(np.logaddexp(0, x)), dtypes=FLOAT, within=(-10, 10), factor=16,
)  # fmt: skip
hardsigmoid = unary(
    "hardsigmoid", "min(max(x + 3, 0), 6) / 6.", lambda v: clamped(v + 3.0, 0.0, 6.0) / 6.0,
    lambda x: np.clip(x + 3, 0, 6) / 6, dtypes=FLOAT, within=(-5, 5),
)  # fmt: skip
hardswish = unary(
    "hardswish", "x * hardsigmoid(x).", lambda v: v * clamped(v + 3.0, 0.0, 6.0) / 6.0,
    lambda x: x * np.clip(x + 3, 0, 6) / 6, dtypes=FLOAT, within=(-5, 5),
)  # fmt: skip
softsign = unary(
    "softsign", "x / (1 + |x|).", lambda v: v / (1.0 + f.absolute(v)),
    lambda x: x / (1 + np.abs(x)), dtypes=FLOAT,
)  # fmt: skip
tanhshrink = unary(
    "tanhshrink", "x - tanh(x).", lambda v: v - f.tanh(v), lambda x: x - np.tanh(x),
    dtypes=FLOAT, within=(-20, 20), factor=16,
)  # fmt: skip
selu = unary(
    "selu", "`elu` with alpha 1.6733 and scale 1.0507, which keep mean and variance.",
    lambda v: SELU_SCALE * select(v > 0.0, v, SELU_ALPHA * f.expm1(v)),
    lambda x: SELU_SCALE * np.where(x > 0, x, SELU_ALPHA * np.expm1(x)), dtypes=FLOAT,
    continuous=True,
)  # fmt: skip
prelu = binary(
    "prelu", "x where it is positive, else x * y.", lambda a, b: select(a > 0.0, a, a * b),
    lambda x, y: np.where(x > 0, x, x * y), dtypes=FLOAT, continuous=True,
)  # fmt: skip


def gelu(x: Tensor, approximate: Literal["none", "tanh"] = "none") -> Tensor:
    """x * Φ(x), the normal distribution function: exact by erf, or approximate by tanh."""
    return apply(Gelu, x, approximate=approximate)


def leaky_relu(x: Tensor, slope: float = 0.01) -> Tensor:
    """`x` where it is positive, else `slope` * x."""
    return apply(LeakyRelu, x, slope=slope)


def elu(x: Tensor, alpha: float = 1.0, *, scale: float = 1.0, input_scale: float = 1.0) -> Tensor:
    """`scale` * x where x is positive, else scale * alpha * (exp(x * input_scale) - 1)."""
    return apply(Elu, x, alpha=alpha, scale=scale, input_scale=input_scale)


def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """`x` where it is positive, else alpha * (exp(x / alpha) - 1)."""
    return elu(x, alpha, input_scale=1 / alpha)


def hardtanh(x: Tensor, low: float = -1.0, high: float = 1.0) -> Tensor:
    """min(max(x, low), high); NaN stays NaN."""
    return apply(HardTanh, x, low=low, high=high)


def softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * x)) / beta; `x` itself where beta * x is above `threshold`."""
    return apply(Softplus, x, beta=beta, threshold=threshold)


def threshold(x: Tensor, bound: float, value: float) -> Tensor:
    """`x` where it is above `bound`, else `value`."""
    return apply(Threshold, x, bound=bound, value_below=value)


def hardshrink(x: Tensor, bound: float = 0.5) -> Tensor:
    """`x` where |x| is above `bound`, else 0."""
    return apply(Shrink, x, bound=bound, soft=False)


def softshrink(x: Tensor, bound: float = 0.5) -> Tensor:
    """`x` moved toward zero by `bound` where |x| is above it, else 0."""
    return apply(Shrink, x, bound=bound, soft=True)


def glu(x: Tensor, axis: int = -1) -> Tensor:
    """The first half of `axis` times the sigmoid of the second half."""
    size = x.shape[axis]
    if not isinstance(size, int) or size % 2:
        raise BadArgument(f"glu halves axis {axis}, whose size is {size}")
    return apply(Glu, x, axis=axis % x.ndim)


@family
class Activation(Op):
    """A function of each floating-point element, with attributes; narrow ones in float32."""

    x: TensorType

    factor: ClassVar[float] = 16
    within: ClassVar[tuple[float, float]] = (-4, 4)

    def infer(self) -> TensorType:
        if not self.x.dtype.is_float:
            raise DtypeMismatch(f"{self.name} does not take {self.x.dtype.name}")
        return self.x

    def value(self, v: Expr) -> Any:
        """The function of one element."""
        raise NotImplementedError(type(self).__name__)

    def define(self, x: Grid) -> Grid:
        wide = arithmetic(x.dtype)
        return elementwise(lambda v: self.value(v.cast(wide)), x).cast(x.dtype)


SHAPES = (f32[7, 33], f16[5, 9], bf16[4, 6], f64[3], f32[()], f32[0, 3])


@operator("gelu")
class Gelu(Activation):
    """x times the normal distribution function. Source: Hendrycks and Gimpel, arXiv 1606.08415."""

    approximate: Literal["none", "tanh"]

    # Left of -2, 1 + erf(x) keeps as few of its last bits as it does in PyTorch.
    factor: ClassVar[float] = 256

    def value(self, v: Expr) -> Any:
        if self.approximate == "none":
            return v * 0.5 * (1.0 + f.erf(v * math.sqrt(0.5)))
        return v * 0.5 * (1.0 + f.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v * v * v)))

    def infer(self) -> TensorType:
        if self.approximate not in ("none", "tanh"):
            raise BadArgument(f"gelu is approximated by 'none' or 'tanh', not {self.approximate!r}")
        return super().infer()

    def reference(self, x: Any) -> Any:
        if self.approximate == "none":
            return x * (1 + erf_array(x / np.sqrt(2))) / 2 if x.size else x
        return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

    @classmethod
    def samples(cls) -> Iterator[Self]:
        for shape in SHAPES:
            yield cls(shape, "none")
        yield cls(f32[5, 8], "tanh")
        yield cls(f16[5, 8], "tanh")


@operator("leaky_relu")
class LeakyRelu(Activation):
    """x, times `slope` where negative."""

    continuous: ClassVar[bool] = True

    slope: float

    def value(self, v: Expr) -> Any:
        return select(v > 0.0, v, v * self.slope)

    def reference(self, x: Any) -> Any:
        return np.where(x > 0, x, x * self.slope)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        for shape in SHAPES:
            yield cls(shape, 0.1)


@operator("elu")
class Elu(Activation):
    """x where positive, else a scaled exponential less one; all times `scale`."""

    continuous: ClassVar[bool] = True

    alpha: float
    scale: float
    input_scale: float

    def value(self, v: Expr) -> Any:
        low = self.alpha * f.expm1(v * self.input_scale)
        return select(v > 0.0, v, low) * self.scale

    def reference(self, x: Any) -> Any:
        return self.scale * np.where(x > 0, x, self.alpha * np.expm1(x * self.input_scale))

    @classmethod
    def samples(cls) -> Iterator[Self]:
        for shape in SHAPES:
            yield cls(shape, 1.5, 0.75, 1.0)
        yield cls(f32[5], 2.0, 1.0, 0.5)


@operator("hardtanh")
class HardTanh(Activation):
    """x within bounds."""

    low: float
    high: float

    def value(self, v: Expr) -> Any:
        return clamped(v, self.low, self.high)

    def reference(self, x: Any) -> Any:
        return np.clip(x, self.low, self.high)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        for shape in SHAPES:
            yield cls(shape, -0.5, 1.25)


@operator("softplus")
class Softplus(Activation):
    """log(1 + exp(beta * x)) / beta, or x where beta * x is above `threshold`."""

    beta: float
    threshold: float

    def value(self, v: Expr) -> Any:
        return select(v * self.beta > self.threshold, v, log1p_exp(v * self.beta) / self.beta)

    def reference(self, x: Any) -> Any:
        soft = np.logaddexp(0, x * self.beta) / self.beta
        return np.where(x * self.beta > self.threshold, x, soft)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        for shape in SHAPES:
            yield cls(shape, 1.0, 20.0)
        yield cls(f32[5, 7], 2.0, 3.0)


@operator("threshold")
class Threshold(Activation):
    """x where it is above `bound`, else `value_below`."""

    bound: float
    value_below: float

    def value(self, v: Expr) -> Any:
        return select(v <= self.bound, self.value_below, v)

    def reference(self, x: Any) -> Any:
        return np.where(x <= self.bound, self.value_below, x)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        for shape in SHAPES:
            yield cls(shape, 0.5, -2.0)


@operator("shrink")
class Shrink(Activation):
    """Zero within `bound` of zero; the rest as it is, or moved by `bound` if `soft`."""

    bound: float
    soft: bool

    def value(self, v: Expr) -> Any:
        moved = select(v > 0.0, v - self.bound, v + self.bound) if self.soft else v
        # Written so that NaN is kept.
        return select(f.absolute(v) <= self.bound, 0.0, moved)

    def reference(self, x: Any) -> Any:
        moved = x - np.sign(x) * self.bound if self.soft else x
        return np.where(np.abs(x) <= self.bound, 0, moved)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        for shape in SHAPES:
            yield cls(shape, 0.5, True)
        yield cls(f32[5, 7], 0.75, False)


@operator("glu")
class Glu(Op):
    """The first half of an axis times the sigmoid of the second half."""

    x: TensorType
    axis: int

    factor: ClassVar[float] = 16

    def infer(self) -> TensorType:
        half = self.x.shape[self.axis] // 2
        shape = (*self.x.shape[: self.axis], half, *self.x.shape[self.axis + 1 :])
        return self.x.dtype[shape]

    def define(self, x: Grid) -> Grid:
        shape = self.infer().shape
        wide = arithmetic(x.dtype)

        def element(*index: Expr) -> Expr:
            later = list(index)
            later[self.axis] = index[self.axis] + shape[self.axis]
            gate: Expr = sigmoid_of(x[tuple(later)].cast(wide))
            return (x[index].cast(wide) * gate).cast(x.dtype)

        return grid(shape, element)

    def reference(self, x: Any) -> Any:
        a, b = np.split(x, 2, self.axis)
        return a / (1 + np.exp(-b))

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[7, 34], 1)
        yield cls(f16[4, 6, 3], 1)
