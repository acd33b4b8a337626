"""Functions of single elements: arithmetic, comparison, activations, choices, casts."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from hidet import ops
from hidet.errors import NotYet
from hidet.graph import Tensor
from hidet.ops.tensors.create import Scalar
from hidet.types import DType, boolean, f32, i64
from hidet_torch.converters.rounding import rounded
from hidet_torch.converters.table import aten, overload, overloads, primitives, require, torch
from hidet_torch.memory.dtypes import result_type, wide

Operand = Tensor | Scalar

# fmt: off
MATHEMATICS = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "erf", "erfc",
    "erfinv", "lgamma", "digamma",
    "sigmoid", "reciprocal", "square", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
    "tanh", "asinh", "acosh", "atanh",
)
# fmt: on
"""Functions with the same name here and there."""

UNARY = {
    "abs": ops.absolute, "neg": ops.negative, "bitwise_not": ops.bitwise_not,
    "logical_not": ops.logical_not, "silu": ops.silu, "mish": ops.mish,
    "hardswish": ops.hardswish, "hardsigmoid": ops.hardsigmoid, "relu": ops.relu,
    "signbit": ops.signbit, "isfinite": ops.isfinite,
    **{name: getattr(ops, name) for name in MATHEMATICS},
}  # fmt: skip
torch.rows({overload(name): function for name, function in UNARY.items()})

SPECIAL = {
    "i0": ops.modified_bessel_i0, "i0e": ops.scaled_modified_bessel_i0,
    "i1": ops.modified_bessel_i1, "i1e": ops.scaled_modified_bessel_i1, "erfcx": ops.erfcx,
    **{
        name: getattr(ops, name)
        for name in (
            "modified_bessel_i0", "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1",
            "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0",
        )
    },
}  # fmt: skip
"""Functions of `torch.special`, one of which has its old name."""
torch.rows({overload("i0" if n == "i0" else f"special_{n}"): f for n, f in SPECIAL.items()})


@torch(aten.polygamma.default)
def polygamma(order: int, x: Tensor) -> Tensor:
    """A derivative of digamma."""
    return ops.polygamma(order, x)


@torch(aten.angle.default)
def angle(x: Tensor) -> Tensor:
    """0, or pi of numbers below 0."""
    of = x.dtype if x.dtype.is_float else f32
    found = ops.multiply(ops.cast(ops.less(x, 0), wide(of)), math.pi, dtype=of)
    return ops.where(ops.isnan(x), x, found, dtype=of) if x.dtype.is_float else found


def kept_by_integers(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """A rounding, which integers have behind them."""
    return function(x) if x.dtype.is_float else x


def never_of_integers(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """A test for values that only floats have."""
    return function(x) if x.dtype.is_float else ops.not_equal(x, x)


def named(function: Callable[..., Any], *given: Any) -> Callable[..., Any]:
    """`function` with its first arguments given, under the name of the last of them."""
    made: Any = partial(function, *given)
    made.__name__, made.__module__ = given[0].__name__, __name__
    return made


torch.rows(
    {overload(n): named(kept_by_integers, getattr(ops, n)) for n in ("floor", "ceil", "trunc")}
)
torch.rows({overload("round"): named(kept_by_integers, ops.round)})
torch.rows({overload(n): named(never_of_integers, getattr(ops, n)) for n in ("isnan", "isinf")})


@torch(aten.round.decimals)
def round_decimals(x: Tensor, *, decimals: int) -> Tensor:
    """x rounded to so many digits after the point, or before it."""
    factor = 10.0 ** abs(decimals)
    if decimals >= 0:
        return ops.divide(ops.round(ops.multiply(x, factor)), factor)
    return ops.multiply(ops.round(ops.divide(x, factor)), factor)


@torch(aten.sign.default, aten.sgn.default)
def sign(x: Tensor) -> Tensor:
    """The sign; bools are their own."""
    return x if x.dtype.is_bool else ops.sign(x)


# ---- two operands ------------------------------------------------------------------------------


def mixed(function: Callable[..., Tensor], x: Operand, y: Operand) -> Tensor:
    """A function of two elements in the type that PyTorch brings them to."""
    return function(x, y, dtype=result_type(x, y))


BINARY = {
    ops.multiply: ["mul.Tensor", "mul.Scalar"],
    ops.divide: ["div.Tensor", "div.Scalar", "true_divide.Tensor", "true_divide.Scalar"],
    ops.floor_divide: ["floor_divide", "floor_divide.Scalar"],
    ops.remainder: ["remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor"],
    ops.fmod: ["fmod.Tensor", "fmod.Scalar"],
    ops.maximum: ["maximum", "clamp_min", "clamp_min.Tensor"],
    ops.minimum: ["minimum", "clamp_max", "clamp_max.Tensor"],
    ops.fmax: ["fmax"],
    ops.fmin: ["fmin"],
    ops.atan2: ["atan2"],
    ops.hypot: ["hypot"],
    ops.copysign: ["copysign.Tensor", "copysign.Scalar"],
    ops.equal: ["eq.Tensor", "eq.Scalar"],
    ops.not_equal: ["ne.Tensor", "ne.Scalar"],
    ops.less: ["lt.Tensor", "lt.Scalar"],
    ops.less_equal: ["le.Tensor", "le.Scalar"],
    ops.greater: ["gt.Tensor", "gt.Scalar"],
    ops.greater_equal: ["ge.Tensor", "ge.Scalar"],
    ops.logical_and: ["logical_and"],
    ops.logical_or: ["logical_or"],
    ops.logical_xor: ["logical_xor"],
    ops.bitwise_and: ["bitwise_and.Tensor", "bitwise_and.Scalar"],
    ops.bitwise_or: ["bitwise_or.Tensor", "bitwise_or.Scalar"],
    ops.bitwise_xor: ["bitwise_xor.Tensor", "bitwise_xor.Scalar"],
    ops.prelu: ["_prelu_kernel"],
}
for _function, _names in BINARY.items():
    torch.rows(overloads(_names, named(mixed, _function)))


SHIFTS = ("Tensor", "Scalar", "Tensor_Scalar")
"""Overloads of shifts; not every operator has each."""


def shift(function: Callable[..., Tensor], x: Operand, y: Operand) -> Tensor:
    """Bits moved by y; of int64 by a number as the product or quotient that it is."""
    of = result_type(x, y)
    if of is not i64 or isinstance(y, Tensor):
        return function(x, y, dtype=of)
    if not isinstance(y, int) or not 0 <= y < 62:
        raise NotYet(f"a shift of int64 by {y}")
    by = ops.multiply if function is ops.shift_left else ops.floor_divide
    return by(x, 1 << y, dtype=of)


for _function, _packets in (
    (ops.shift_left, (aten.bitwise_left_shift, aten.__lshift__)),
    (ops.shift_right, (aten.bitwise_right_shift, aten.__rshift__)),
):
    for _packet in _packets:
        for _which in set(_packet.overloads()) & set(SHIFTS):
            torch(getattr(_packet, _which))(named(shift, _function))


def scaled_sum(x: Operand, y: Operand, factor: float, of: DType) -> Tensor:
    """x + factor * y, rounded to `of` once."""
    if factor == 1:
        return ops.add(x, y, dtype=of)
    between = wide(of)
    term = ops.multiply(y, factor, dtype=between)
    return ops.cast(ops.add(x, term, dtype=between), of)


@torch(aten.add.Tensor, aten.add.Scalar)
def add(x: Operand, y: Operand, alpha: float = 1) -> Tensor:
    """x + alpha * y."""
    return scaled_sum(x, y, alpha, result_type(x, y))


@torch(aten.sub.Tensor, aten.sub.Scalar)
def sub(x: Operand, y: Operand, alpha: float = 1) -> Tensor:
    """x - alpha * y."""
    of = result_type(x, y)
    return ops.subtract(x, y, dtype=of) if alpha == 1 else scaled_sum(x, y, -alpha, of)


@torch(aten.rsub.Tensor, aten.rsub.Scalar)
def rsub(x: Operand, y: Operand, alpha: float = 1) -> Tensor:
    """y - alpha * x."""
    return sub(y, x, alpha)


@torch(aten.div.Tensor_mode, aten.div.Scalar_mode)
def div_rounded(x: Operand, y: Operand, rounding_mode: str | None = None) -> Tensor:
    """x / y, rounded down or toward zero."""
    functions: dict[str | None, Callable[..., Tensor]] = {
        None: ops.divide,
        "floor": ops.floor_divide,
        "trunc": ops.trunc_divide,
    }
    return mixed(functions[rounding_mode], x, y)


@torch(aten.pow.Tensor_Tensor, aten.pow.Scalar)
def power(x: Operand, y: Operand) -> Tensor:
    """x to the power y."""
    return mixed(ops.pow, x, y)


SIMPLE_POWERS: dict[float, Callable[[Tensor], Tensor]] = {
    0.5: ops.sqrt,
    -0.5: ops.rsqrt,
    -1: ops.reciprocal,
    1: lambda x: x,
    2: lambda x: ops.multiply(x, x),
    3: lambda x: ops.multiply(ops.multiply(x, x), x),
}
"""Powers that are products or roots, which is how PyTorch computes them too."""


@torch(aten.pow.Tensor_Scalar)
def power_of_number(x: Tensor, exponent: float) -> Tensor:
    """x to the power of a number."""
    of = result_type(x, exponent)
    simple = SIMPLE_POWERS.get(exponent)
    if simple is None or of.is_bool:
        return mixed(ops.pow, x, exponent)
    return ops.cast(simple(ops.cast(x, wide(of))), of)


@torch(aten.where.self, aten.where.ScalarOther, aten.where.ScalarSelf, aten.where.Scalar)
def where(condition: Tensor, x: Operand, y: Operand) -> Tensor:
    """x where the condition holds, else y."""
    of = result_type(x, y)
    if not isinstance(x, Tensor) and not isinstance(y, Tensor):
        x = ops.full((), x, of, device=condition.device)
    return ops.where(ops.cast(condition, boolean), x, y, dtype=of)


@torch(aten.masked_fill.Scalar, aten.masked_fill.Tensor)
def masked_fill(x: Tensor, mask: Tensor, value: Operand) -> Tensor:
    """`value` where the mask holds, else x."""
    return ops.where(mask, value, x, dtype=x.dtype)


@torch(aten.clamp.default, aten.clamp.Tensor)
def clamp(x: Tensor, low: Operand | None = None, high: Operand | None = None) -> Tensor:
    """x but at least `low` and then at most `high`; either may be missing."""
    bounds = [each for each in (low, high) if each is not None]
    of = result_type(x, *bounds)
    if low is not None:
        x = ops.maximum(x, low, dtype=of)
    return x if high is None else ops.minimum(x, high, dtype=of)


@torch(aten.lerp.Scalar, aten.lerp.Tensor)
def lerp(x: Tensor, y: Tensor, weight: Operand) -> Tensor:
    """x + weight * (y - x)."""
    between = wide(x.dtype)
    step = ops.multiply(ops.subtract(y, x, dtype=between), weight, dtype=between)
    return ops.cast(ops.add(x, step, dtype=between), x.dtype)


@torch(aten.addcmul.default)
def addcmul(x: Tensor, a: Tensor, b: Tensor, value: float = 1) -> Tensor:
    """x + value * a * b."""
    of = result_type(x, a, b)
    return scaled_sum(x, ops.multiply(a, b, dtype=wide(of)), value, of)


@torch(aten.addcdiv.default)
def addcdiv(x: Tensor, a: Tensor, b: Tensor, value: float = 1) -> Tensor:
    """x + value * a / b."""
    of = result_type(x, a, b)
    return scaled_sum(x, ops.divide(a, b, dtype=wide(of)), value, of)


# ---- activations -------------------------------------------------------------------------------


@torch(aten.gelu.default)
def gelu(x: Tensor, approximate: Any = "none") -> Tensor:
    """GELU, exact or by tanh."""
    return ops.gelu(x, approximate)


@torch(aten.hardtanh.default)
def hardtanh(x: Tensor, low: float = -1, high: float = 1) -> Tensor:
    """x within bounds."""
    return ops.clamp(x, low, high) if x.dtype.is_integer else ops.hardtanh(x, low, high)


@torch(aten.leaky_relu.default)
def leaky_relu(x: Tensor, slope: float = 0.01) -> Tensor:
    """x, times `slope` where negative."""
    return ops.leaky_relu(x, slope)


@torch(aten.elu.default)
def elu(x: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    """ELU in its general form, of which SELU and CELU are cases."""
    return ops.elu(x, alpha, scale=scale, input_scale=input_scale)


@torch(aten.softplus.default)
def softplus(x: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """log(1 + exp(beta * x)) / beta."""
    return ops.softplus(x, beta, threshold)


@torch(aten.glu.default)
def glu(x: Tensor, axis: int = -1) -> Tensor:
    """The first half times the sigmoid of the second."""
    return ops.glu(x, axis)


# ---- the same values ---------------------------------------------------------------------------


@torch(aten._to_copy.default)
def to_copy(x: Tensor, dtype: DType | None = None, device: str | None = None, **_: Any) -> Tensor:
    """x as another type; layouts and memory formats are the importer's."""
    require(device in (None, x.device), f"a copy from {x.device} to {device}")
    return x if dtype is None else rounded(x, dtype)


@torch(primitives.convert_element_type.default)
def convert_element_type(x: Tensor, dtype: DType) -> Tensor:
    """x as another type."""
    return rounded(x, dtype)


@torch(
    aten.clone.default,
    aten.alias.default,
    aten.detach.default,
    aten.lift_fresh_copy.default,
)
def same(x: Tensor, **_: Any) -> Tensor:
    """x: values have no identity and no layout in a graph."""
    return x


@torch(aten.nan_to_num.default)
def nan_to_num(
    x: Tensor, nan: float | None = None, high: float | None = None, low: float | None = None
) -> Tensor:
    """x with NaN and infinities replaced, by default by 0 and the largest finite values."""
    if not x.dtype.is_float:
        return x
    least, most = x.dtype.limits
    of = x.dtype
    y = ops.where(ops.isnan(x), nan or 0.0, x, dtype=of)
    y = ops.where(ops.equal(x, float("inf")), most if high is None else high, y, dtype=of)
    return ops.where(ops.equal(x, float("-inf")), least if low is None else low, y, dtype=of)


@torch(aten.frac.default)
def frac(x: Tensor) -> Tensor:
    """x without its whole part."""
    return ops.subtract(x, ops.trunc(x))
