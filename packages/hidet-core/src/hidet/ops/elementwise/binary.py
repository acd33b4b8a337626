"""Functions of two elements: arithmetic, extremes, powers, bits. Signs and NaN as in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidet.compute import functions as f
from hidet.compute import maximum as larger
from hidet.compute import minimum as smaller
from hidet.compute import select, truth
from hidet.ir.expr import (
    Binary,
    Expr,
    ShiftLeft,
    ShiftRight,
    TruncDiv,
    TruncMod,
    combine,
    constant,
)
from hidet.ops.elementwise.families import ANY, FLOAT, INTEGER, WHOLE, binary
from hidet.types import f64

NUMBERS = ANY
"""Arithmetic takes bools too: their sum is `or`, their product `and`."""


def plus(a: Expr, b: Expr) -> Expr:
    """a + b."""
    return a | b if a.dtype.is_bool else a + b


def times(a: Expr, b: Expr) -> Expr:
    """a * b."""
    return a & b if a.dtype.is_bool else a * b


def raised(a: Expr, b: Expr) -> Any:
    """a ** b; of integers through float64, exact below 2**53."""
    if a.dtype.is_float:
        return f.power(a, b)
    # Rounded: a GPU's power of whole numbers may fall just short of the whole result.
    return f.rint(f.power(a.cast(f64), b.cast(f64))).cast(a.dtype)


def toward_zero(a: Expr, b: Expr) -> Any:
    """a / b without its fraction."""
    return f.trunc(a / b) if a.dtype.is_float else combine(TruncDiv, a, b)


def quotient_toward_zero(x: Any, y: Any) -> Any:
    """The same in numpy."""
    if x.dtype.kind == "f":
        return np.trunc(x / y)
    return np.where((x < 0) != (y < 0), -(np.abs(x) // np.abs(y)), np.abs(x) // np.abs(y))


def shifted(kind: type[Binary], a: Expr, b: Expr) -> Any:
    """a moved by b bits; what moves all bits out is left to no machine, for they differ."""
    signed, bits = a.dtype.limits[0] < 0, 8 * a.dtype.nbytes
    inside = b < constant(bits, b.dtype)
    inside = (b >= constant(0, b.dtype)) & inside if signed else inside
    zero = constant(0, a.dtype)
    beyond = select(a < zero, constant(-1, a.dtype), zero)
    rest = beyond if signed and kind is ShiftRight else zero
    return select(inside, combine(kind, a, b), rest)


def shifted_array(move: Any, x: Any, y: Any) -> Any:
    """The same in numpy."""
    bits, right = 8 * x.dtype.itemsize, move is np.right_shift
    moved = move(x, np.where((y >= 0) & (y < bits), y, 0).astype(x.dtype))
    rest = np.where(x < 0, -1, 0) if right and x.dtype.kind == "i" else np.zeros_like(x)
    return np.where((y >= 0) & (y < bits), moved, rest).astype(x.dtype)


def without_nan(pick: Any, a: Expr, b: Expr) -> Any:
    """`pick(a, b)`, or the other one where one is NaN."""
    if not a.dtype.is_float:
        return pick(a, b)
    both = pick(a, b)
    return select(f.isnan(a), b, select(f.isnan(b), a, both))


add = binary("add", "x + y; for bools x or y.", plus, np.add, dtypes=NUMBERS)
subtract = binary("subtract", "x - y.", lambda a, b: a - b, np.subtract)
multiply = binary("multiply", "x * y; for bools x and y.", times, np.multiply, dtypes=NUMBERS)
divide = binary(
    "divide", "x / y; integers are divided in float32.", lambda a, b: a / b, np.divide,
    gives="float", second=(1, 9),
)  # fmt: skip
floor_divide = binary(
    "floor_divide", "x / y rounded down.", lambda a, b: a // b, np.floor_divide, second=(1, 9)
)
trunc_divide = binary(
    "trunc_divide", "x / y rounded toward zero.", toward_zero, quotient_toward_zero, second=(1, 9)
)
remainder = binary(
    "remainder", "x - y * floor(x / y): the remainder with the sign of y.", lambda a, b: a % b,
    np.mod, second=(1, 9), factor=16,
)  # fmt: skip
fmod = binary(
    "fmod", "x - y * trunc(x / y): the remainder with the sign of x.",
    lambda a, b: combine(TruncMod, a, b), np.fmod, second=(1, 9), factor=16,
)  # fmt: skip
pow = binary(
    "pow", "x to the power y.", raised,
    lambda x, y: np.power(x.astype(np.float64), y.astype(np.float64)).astype(x.dtype),
    within=(0.1, 3), second=(0, 2), factor=16,
)  # fmt: skip
maximum = binary(
    "maximum", "The larger of x and y; NaN if either is NaN.", larger, np.maximum, dtypes=ANY
)
minimum = binary(
    "minimum", "The smaller of x and y; NaN if either is NaN.", smaller, np.minimum, dtypes=ANY
)
fmax = binary(
    "fmax", "The larger of x and y; where one of them is NaN, the other one.",
    lambda a, b: without_nan(larger, a, b), np.fmax, continuous=True,
)  # fmt: skip
fmin = binary(
    "fmin", "The smaller of x and y; where one of them is NaN, the other one.",
    lambda a, b: without_nan(smaller, a, b), np.fmin, continuous=True,
)  # fmt: skip
atan2 = binary(
    "atan2", "The angle of the point (y, x) in radians.", f.atan2, np.arctan2, gives="float"
)
hypot = binary(
    "hypot", "sqrt(x * x + y * y), without overflow on the way.", f.hypot, np.hypot, dtypes=FLOAT
)
copysign = binary("copysign", "x with the sign of y.", f.copysign, np.copysign, gives="float")

logical_and = binary(
    "logical_and", "Whether neither x nor y is zero.", lambda a, b: truth(a) & truth(b),
    np.logical_and, gives="bool", dtypes=ANY,
)  # fmt: skip
logical_or = binary(
    "logical_or", "Whether x or y, or both, are not zero.", lambda a, b: truth(a) | truth(b),
    np.logical_or, gives="bool", dtypes=ANY,
)  # fmt: skip
logical_xor = binary(
    "logical_xor", "Whether exactly one of x and y is not zero.",
    lambda a, b: truth(a).ne(truth(b)), np.logical_xor, gives="bool", dtypes=ANY,
)  # fmt: skip
bitwise_and = binary(
    "bitwise_and",
    "x & y: the bits that are set in both.",
    lambda a, b: a & b,
    np.bitwise_and,
    dtypes=WHOLE,
)
bitwise_or = binary(
    "bitwise_or",
    "x | y: the bits that are set in x, in y, or in both.",
    lambda a, b: a | b,
    np.bitwise_or,
    dtypes=WHOLE,
)
bitwise_xor = binary(
    "bitwise_xor",
    "x ^ y: the bits that are set in exactly one of x and y.",
    lambda a, b: a ^ b,
    np.bitwise_xor,
    dtypes=WHOLE,
)
shift_left = binary(
    "shift_left", "x << y; 0 where y is negative, or as large as the type has bits.",
    lambda a, b: shifted(ShiftLeft, a, b), lambda x, y: shifted_array(np.left_shift, x, y),
    dtypes=INTEGER,
)  # fmt: skip
shift_right = binary(
    "shift_right",
    "x >> y, which keeps the sign; where y is negative or too large, -1 for negative x, else 0.",
    lambda a, b: shifted(ShiftRight, a, b), lambda x, y: shifted_array(np.right_shift, x, y),
    dtypes=INTEGER,
)  # fmt: skip
