"""Functions of one or of several elements: arithmetic, comparisons, logic, bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from hidet import ops
from hidet.graph import Tensor
from hidet.graph.known import known
from hidet.types import f32, f64
from hidet_tf.converters.table import tf

tf.rows(
    {
        "Abs": ops.absolute, "Neg": ops.negative, "Floor": ops.floor, "Ceil": ops.ceil,
        "Round": ops.round, "Rint": ops.round, "Square": ops.square, "Sqrt": ops.sqrt,
        "Rsqrt": ops.rsqrt, "Reciprocal": ops.reciprocal, "Inv": ops.reciprocal,
        "Exp": ops.exp, "Expm1": ops.expm1, "Log": ops.log, "Log1p": ops.log1p,
        "Sin": ops.sin, "Cos": ops.cos, "Tan": ops.tan, "Asin": ops.asin, "Acos": ops.acos,
        "Atan": ops.atan, "Sinh": ops.sinh, "Cosh": ops.cosh, "Asinh": ops.asinh,
        "Acosh": ops.acosh, "Atanh": ops.atanh, "Erf": ops.erf, "Erfc": ops.erfc,
        "Erfinv": ops.erfinv, "Lgamma": ops.lgamma, "Digamma": ops.digamma,
        "IsNan": ops.isnan, "IsInf": ops.isinf, "IsFinite": ops.isfinite,
        "LogicalNot": ops.logical_not, "Invert": ops.bitwise_not,
    }
)  # fmt: skip
tf.rows(
    {
        "Add": ops.add, "AddV2": ops.add, "Sub": ops.subtract, "Mul": ops.multiply,
        "RealDiv": ops.divide, "Maximum": ops.maximum, "Minimum": ops.minimum,
        "Atan2": ops.atan2, "FloorMod": ops.remainder, "Mod": ops.fmod, "TruncateMod": ops.fmod,
        "TruncateDiv": ops.trunc_divide, "Equal": ops.equal, "NotEqual": ops.not_equal,
        "Less": ops.less, "LessEqual": ops.less_equal, "Greater": ops.greater,
        "GreaterEqual": ops.greater_equal, "LogicalAnd": ops.logical_and,
        "LogicalOr": ops.logical_or, "BitwiseAnd": ops.bitwise_and, "BitwiseOr": ops.bitwise_or,
        "BitwiseXor": ops.bitwise_xor, "LeftShift": ops.shift_left, "RightShift": ops.shift_right,
    }
)  # fmt: skip


@tf("Sign")
def sign(x: Tensor) -> Tensor:
    """1, 0 or -1; NaN stays NaN."""
    found = ops.sign(x)
    return ops.where(ops.isnan(x), x, found) if x.dtype.is_float else found


@tf("Div")
def divide(x: Tensor, y: Tensor) -> Tensor:
    """x / y; of integers without the fraction."""
    return ops.divide(x, y) if x.dtype.is_float else ops.trunc_divide(x, y)


@tf("FloorDiv")
def floor_divide(x: Tensor, y: Tensor) -> Tensor:
    """x / y rounded down; of floats the quotient is rounded twice."""
    return ops.floor(ops.divide(x, y)) if x.dtype.is_float else ops.floor_divide(x, y)


@tf("SquaredDifference")
def squared_difference(x: Tensor, y: Tensor) -> Tensor:
    """(x - y) * (x - y)."""
    return ops.square(ops.subtract(x, y))


@tf("DivNoNan")
def divide_no_nan(x: Tensor, y: Tensor) -> Tensor:
    """x / y, and 0 where y is 0."""
    return zero_where(ops.equal(y, 0), ops.divide(x, y))


@tf("MulNoNan")
def multiply_no_nan(x: Tensor, y: Tensor) -> Tensor:
    """x * y, and 0 where y is 0, whatever x is."""
    return zero_where(ops.equal(y, 0), ops.multiply(x, y))


@tf("Xdivy")
def x_over_y(x: Tensor, y: Tensor) -> Tensor:
    """x / y, and 0 where x is 0."""
    return zero_where(ops.equal(x, 0), ops.divide(x, y))


@tf("Xlogy")
def x_log_y(x: Tensor, y: Tensor) -> Tensor:
    """x * log(y), and 0 where x is 0."""
    return zero_where(ops.equal(x, 0), ops.multiply(x, ops.log(y)))


@tf("Xlog1py")
def x_log1p_y(x: Tensor, y: Tensor) -> Tensor:
    """x * log(1 + y), and 0 where x is 0."""
    return zero_where(ops.equal(x, 0), ops.multiply(x, ops.log1p(y)))


def zero_where(condition: Tensor, x: Tensor) -> Tensor:
    """0 where a condition holds, else x."""
    return ops.where(condition, ops.zeros_like(x), x)


PRODUCTS: dict[float, Callable[[Tensor], Tensor]] = {
    1: lambda x: x,
    2: lambda x: ops.multiply(x, x),
    3: lambda x: ops.multiply(ops.multiply(x, x), x),
}


@tf("Pow")
def power(x: Tensor, y: Tensor) -> Tensor:
    """x to the power y; powers of 1, 2 and 3 that are known are products."""
    exponents = known(y) if y.ndim <= x.ndim else None
    if exponents is not None and exponents.size == 1 and exponents.item() in PRODUCTS:
        return PRODUCTS[exponents.item()](x)
    if not x.dtype.is_float:
        return ops.pow(x, y, dtype=x.dtype)
    return ops.cast(ops.pow(x, y, dtype=f64 if x.dtype is f64 else f32), x.dtype)


@tf("AddN")
def add_n(operands: list[Tensor]) -> Tensor:
    """The sum of the operands."""
    return reduce(ops.add, operands)


@tf("ClipByValue")
def clip_by_value(x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """x but at most `high` and then at least `low`."""
    return ops.maximum(ops.minimum(x, high), low)


@tf("ApproximateEqual")
def approximate_equal(x: Tensor, y: Tensor, *, tolerance: float) -> Tensor:
    """Whether x and y are less than `tolerance` apart."""
    return ops.less(ops.absolute(ops.subtract(x, y)), tolerance)
