"""What each arithmetic node means in numpy, at its operands' own type."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hidet.ir.expr import (
    Add,
    And,
    BitAnd,
    BitNot,
    BitOr,
    BitXor,
    Div,
    Equal,
    Expr,
    FloorDiv,
    FloorMod,
    Less,
    LessEqual,
    Maximum,
    Minimum,
    Mul,
    Negate,
    Not,
    NotEqual,
    Or,
    ShiftLeft,
    ShiftRight,
    Sub,
    TruncDiv,
    TruncMod,
)
from hidet.sim.values import Value
from hidet.types import DType, tf32


def truncated_quotient(a: Value, b: Value) -> Value:
    """a / b rounded toward zero, as C does on integers."""
    if np.issubdtype(np.asarray(a).dtype, np.integer):
        down = np.floor_divide(a, b)
        return down + ((down * b != a) & ((a < 0) != (b < 0))).astype(down.dtype)
    return np.trunc(np.divide(a, b))


BINARY: dict[type[Expr], Callable[[Value, Value], Value]] = {
    Add: np.add,
    Sub: np.subtract,
    Mul: np.multiply,
    Div: np.divide,
    FloorDiv: np.floor_divide,
    FloorMod: np.remainder,
    TruncDiv: truncated_quotient,
    TruncMod: np.fmod,
    Minimum: np.minimum,
    Maximum: np.maximum,
    BitAnd: np.bitwise_and,
    BitOr: np.bitwise_or,
    BitXor: np.bitwise_xor,
    ShiftLeft: np.left_shift,
    ShiftRight: np.right_shift,
    Less: np.less,
    LessEqual: np.less_equal,
    Equal: np.equal,
    NotEqual: np.not_equal,
    And: np.logical_and,
    Or: np.logical_or,
}

UNARY: dict[type[Expr], Callable[[Value], Value]] = {
    Negate: np.negative,
    Not: np.logical_not,
    BitNot: np.invert,
}


def cast(value: Value, of: DType, to: DType) -> Value:
    """`value`, of type `of`, as type `to`.

    Floats become integers toward zero; NaN becomes zero, and what does not fit the nearest value
    that does, as `cvt.rzi` does (PTX ISA, "Data Movement and Conversion Instructions: cvt").
    """
    if of.is_float and to.is_integer:
        return saturated(value, to)
    if to is tf32 and of is not tf32:
        return rounded_to_tf32(np.asarray(value).astype(np.float32))[()]
    return np.asarray(value).astype(to.numpy)[()]


def saturated(value: Value, to: DType) -> Value:
    """A float as an integer of type `to`, toward zero, within its limits."""
    wide = np.trunc(np.asarray(value).astype(np.float64))
    low, high = to.limits
    inside = (wide >= low) & (wide < float(high) + 1)
    exact = np.where(inside, wide, 0).astype(to.numpy)
    edge = np.where(wide > 0, to.numpy.type(high), to.numpy.type(low))
    edge = np.where(np.isnan(wide), to.numpy.type(0), edge)
    return np.where(inside, exact, edge)[()]


def rounded_to_tf32(value: Value) -> Value:
    """float32 with ten bits of fraction, ties away from zero (`cvt.rna.tf32.f32`)."""
    bits = np.asarray(value, np.float32).view(np.uint32)
    rounded = ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isfinite(value), rounded, value)
