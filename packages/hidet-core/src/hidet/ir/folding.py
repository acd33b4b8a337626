"""Simplifications that need only the node itself: constants, conversions, neutral operands."""

from __future__ import annotations

import math

from hidet.errors import BadArgument
from hidet.ir.bounds import is_integer
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import (
    Add,
    Binary,
    Cast,
    Const,
    Div,
    Expr,
    FloorDiv,
    Maximum,
    Minimum,
    Mul,
    Negate,
    ShiftLeft,
    ShiftRight,
    Sub,
    TruncDiv,
    constant,
)
from hidet.types import DType

FOLDABLE = (Add, Sub, Mul, Div, Minimum, Maximum)


def fold(e: Expr) -> Expr:
    """A constant expression's value; `e` if it has none (a division by zero)."""
    try:
        return constant(evaluate(e), e.dtype)
    except BadArgument:
        return e


def cast(e: Expr, value: Expr, to: DType) -> Expr:
    """A conversion: none to the own type, none there and back through a wider one."""
    if value.dtype is to:
        return value
    match value:
        case Const():
            return constant(value.value, to)
        case Cast(inner, between) if inner.dtype is to and lossless(to, between):
            return inner
        case Cast(inner, between) if lossless(inner.dtype, between) and is_integer(e):
            return Cast(inner, to) if inner.dtype is not to else inner
    return e


def lossless(of: DType, via: DType) -> bool:
    """Whether every integer of type `of` is one of type `via`."""
    if not (of.is_integer or of.is_bool) or not via.is_integer:
        return False
    return via.limits[0] <= of.limits[0] and of.limits[1] <= via.limits[1]


def narrow(e: Expr) -> Expr:
    """An operation on integers that wrap: only what holds for numbers modulo a power of two."""
    match e:
        case Add(a, Const(0)) | Add(Const(0), a) | Sub(a, Const(0)):
            return a
        case Mul(a, Const(1)) | Mul(Const(1), a) | FloorDiv(a, Const(1)) | TruncDiv(a, Const(1)):
            return a
        case Mul(_, Const(0) as zero) | Mul(Const(0) as zero, _):
            return zero
        case ShiftLeft(a, Const(0)) | ShiftRight(a, Const(0)):
            return a
    return e


def floating(e: Expr) -> Expr:
    """An operation on floats: exact folding, and x*1, x/1, x-0, which change no bit."""
    match e:
        case Binary(Const(), Const()) if type(e) in FOLDABLE and e.dtype.is_float:
            return fold(e) if e.dtype.name != "tfloat32" else e
        case Negate(Const(value, of)):
            return constant(-value, of)
        case Mul(a, Const(1.0)) | Mul(Const(1.0), a) | Div(a, Const(1.0)):
            return a
        case Sub(a, Const(value)) if value == 0 and math.copysign(1.0, value) > 0:
            return a
    return e
