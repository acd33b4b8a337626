"""Functions of one or of several elements: arithmetic, comparisons, logic, bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from hidet import ops
from hidet.errors import BadArgument
from hidet.frontend.importing.operands import literal
from hidet.graph import Tensor
from hidet.types import f32, f64
from hidet_onnx.converters.table import onnx

ONE = {
    "Abs": ops.absolute, "Neg": ops.negative, "Floor": ops.floor, "Ceil": ops.ceil,
    "Sqrt": ops.sqrt, "Exp": ops.exp, "Log": ops.log, "Reciprocal": ops.reciprocal,
    "Relu": ops.relu, "Sigmoid": ops.sigmoid, "Tanh": ops.tanh,
}  # fmt: skip
"""Functions that have been in ONNX since its first version, when they had an attribute more."""

onnx.rows(ONE, since=6)
onnx.rows({"Not": ops.logical_not, "Softsign": ops.softsign})
onnx.rows(
    {
        "Sin": ops.sin, "Cos": ops.cos, "Tan": ops.tan, "Asin": ops.asin, "Acos": ops.acos,
        "Atan": ops.atan, "Sinh": ops.sinh, "Cosh": ops.cosh, "Asinh": ops.asinh,
        "Acosh": ops.acosh, "Atanh": ops.atanh, "Sign": ops.sign, "Erf": ops.erf,
        "Round": ops.round, "IsNaN": ops.isnan, "BitwiseNot": ops.bitwise_not,
    },
    since=7,
)  # fmt: skip
onnx.rows(
    {
        "Equal": ops.equal, "Greater": ops.greater, "Less": ops.less, "And": ops.logical_and,
        "Or": ops.logical_or, "Xor": ops.logical_xor, "Add": ops.add, "Sub": ops.subtract,
        "Mul": ops.multiply, "GreaterOrEqual": ops.greater_equal, "LessOrEqual": ops.less_equal,
        "BitwiseAnd": ops.bitwise_and, "BitwiseOr": ops.bitwise_or, "BitwiseXor": ops.bitwise_xor,
    },
    since=7,
)  # fmt: skip


@onnx("Div", since=7)
def divide(a: Tensor, b: Tensor) -> Tensor:
    """a / b; of integers without the fraction."""
    return ops.divide(a, b) if a.dtype.is_float else ops.trunc_divide(a, b)


@onnx("Mod", since=10)
def modulo(a: Tensor, b: Tensor, *, fmod: int = 0) -> Tensor:
    """What division leaves: the sign of b, or with `fmod` that of a."""
    return ops.fmod(a, b) if fmod else ops.remainder(a, b)


PRODUCTS: dict[Any, Callable[[Tensor], Tensor]] = {
    1: lambda x: x,
    2: lambda x: ops.multiply(x, x),
    3: lambda x: ops.multiply(ops.multiply(x, x), x),
}


@onnx("Pow", since=7)
def power(x: Tensor, y: Tensor) -> Tensor:
    """x to the power y, as x's type; a fractional power of an integer is computed in float64.

    Small powers are products, as ONNX Runtime and PyTorch compute them too.
    """
    exponent = literal(y)
    if x.dtype.is_float:
        wide = f64 if x.dtype is f64 else f32
        if exponent in PRODUCTS and y.ndim <= x.ndim:
            return ops.cast(PRODUCTS[exponent](ops.cast(x, wide)), x.dtype)
        return ops.cast(ops.pow(x, y, dtype=wide), x.dtype)
    return ops.cast(ops.pow(x, y, dtype=f64 if y.dtype.is_float else x.dtype), x.dtype)


@onnx("BitShift", since=11)
def bit_shift(x: Tensor, y: Tensor, *, direction: str) -> Tensor:
    """The bits of x moved by y."""
    if direction not in ("LEFT", "RIGHT"):
        raise BadArgument(f"BitShift has no direction {direction!r}", help="use LEFT or RIGHT")
    return ops.shift_left(x, y) if direction == "LEFT" else ops.shift_right(x, y)


@onnx("IsInf", since=10)
def is_infinite(x: Tensor, *, detect_negative: int = 1, detect_positive: int = 1) -> Tensor:
    """Whether an element is infinite, of the signs asked for."""
    found = ops.isinf(x)
    if detect_negative and detect_positive:
        return found
    if not (detect_negative or detect_positive):
        return ops.zeros_like(found)
    return ops.logical_and(found, ops.less(x, 0) if detect_negative else ops.greater(x, 0))


@onnx("Where", since=9)
def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """x where the condition holds, else y."""
    return ops.where(condition, x, y)


@onnx("Clip", since=11)
def clip(x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    """x but at least `low` and then at most `high`."""
    given = [each for each in (low, high) if each is not None]
    known = [bound for bound in map(literal, given) if bound is not None]
    if given and x.dtype.is_float and len(known) == len(given) and known == sorted(known):
        return ops.clamp(x, *(None if each is None else literal(each) for each in (low, high)))
    least = x if low is None else ops.maximum(x, low)
    return least if high is None else ops.minimum(least, high)


@onnx("Clip", since=6)
def clip_by_attributes(
    x: Tensor, *, min: float = -3.4028234663852886e38, max: float = 3.4028234663852886e38
) -> Tensor:
    """The same with bounds that the model fixes."""
    return ops.clamp(x, min, max)


def of_several(name: str, combine: Callable[[Tensor, Tensor], Tensor]) -> None:
    """File an operator that combines any number of operands, two at a time."""

    def convert(*operands: Tensor) -> Tensor:
        if not operands:
            raise BadArgument(f"{name} has no operands")
        return reduce(combine, operands)

    convert.__name__, convert.__doc__ = name.lower(), f"The operands combined by {name}."
    onnx(name, since=6)(convert)


of_several("Sum", ops.add)
of_several("Max", ops.maximum)
of_several("Min", ops.minimum)


@onnx("Mean", since=6)
def mean(*operands: Tensor) -> Tensor:
    """The mean of the operands, element by element."""
    total = reduce(ops.add, operands)
    return ops.cast(ops.divide(total, float(len(operands))), operands[0].dtype)
