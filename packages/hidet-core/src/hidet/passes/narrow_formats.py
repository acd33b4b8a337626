"""The bits of narrow numbers, read and written by arithmetic on integers."""

from __future__ import annotations

from hidet.ir.expr import Expr, Reinterpret, select
from hidet.types import DType, f8e8m0, f32, i32, u8, u32
from hidet.types.dtypes import Kind
from hidet.types.narrow import FORMATS, Format

FRACTION = 23
"""Bits of the fraction of a float32, whose exponent has a bias of 127."""
INFINITY, NAN = 0x7F800000, 0x7FC00000
ROUNDING = 1.5 * 2.0**FRACTION
"""Added to a small float32, it rounds it to a whole number, which the lowest bits then are."""


def decoded(code: Expr, of: DType) -> Expr:
    """The value of a byte that holds a number of a narrow type: float32, or int32 for integers."""
    if of in FORMATS:
        return float_value(code.cast(u32), FORMATS[of])
    if of is f8e8m0:
        return exponent_value(code.cast(u32))
    whole, half = code.cast(i32) & ((1 << of.bits) - 1), 1 << (of.bits - 1)
    return (whole ^ half) - half if of.kind is Kind.SIGNED else whole


def encoded(value: Expr, to: DType) -> Expr:
    """The byte that holds a value of another type, as a number of a narrow type.

    Floats round to the nearest, ties to even, by way of float32. Floats become integers toward
    zero; of what an integer type does not hold the lowest bits are kept.
    """
    if to in FORMATS:
        return float_code(bits(value.cast(f32)), FORMATS[to]).cast(u8)
    if to is f8e8m0:
        return exponent_code(bits(value.cast(f32))).cast(u8)
    whole = value.cast(i32) if value.dtype.is_float else value.cast(u8)
    return (whole & ((1 << to.bits) - 1)).cast(u8)


def bits(value: Expr) -> Expr:
    """The bits of a float32."""
    return Reinterpret(value, u32)


def real(word: Expr) -> Expr:
    """The float32 of these bits."""
    return Reinterpret(word, f32)


def float_value(code: Expr, of: Format) -> Expr:
    """The number that a code of a format with a sign means."""
    width = of.exponent + of.fraction
    size = code & ((1 << width) - 1)
    shifted = size << (FRACTION - of.fraction)
    normal = shifted + ((127 - of.bias) << FRACTION)
    subnormal = size.cast(i32).cast(f32) * 2.0 ** (1 - of.bias - of.fraction)
    word = select(size < (1 << of.fraction), bits(subnormal), normal)
    if of.infinite:
        beyond = shifted + (INFINITY - (of.over << (FRACTION - of.fraction)))
        word = select(size < of.over, word, beyond)
    elif of.over == of.nan:
        is_nan = code.eq(of.nan) if of.unsigned_zero else size.eq(of.nan)
        word = select(is_nan, NAN, word)
    return real(word | ((code >> width) << 31))


def float_code(word: Expr, of: Format) -> Expr:
    """The code of the number nearest to a float32, of which the bits are given."""
    width, drop = of.exponent + of.fraction, FRACTION - of.fraction
    size, sign = word & 0x7FFFFFFF, (word >> 31) << width
    # Half of what is dropped, less one where what is kept is even, makes ties go to even.
    odd = (size >> drop) & 1
    normal = ((size + odd + ((1 << (drop - 1)) - 1)) >> drop) - ((127 - of.bias) << of.fraction)
    # Subnormal results are multiples of the smallest one.
    multiple = real(size) * 2.0 ** (of.bias - 1 + of.fraction)
    subnormal = bits(multiple + ROUNDING) - 0x4B400000
    finite = select(size < ((128 - of.bias) << FRACTION), subnormal, normal)
    code = select((size >= INFINITY) | (finite > of.top), of.over, finite)
    code = select(size > INFINITY, of.nan, code)
    if of.unsigned_zero:
        return select(code.eq(0), 0, code | sign)
    return code ^ sign


def exponent_value(code: Expr) -> Expr:
    """The power of two that an exponent alone means: 0 is 2^-127, the largest code is NaN."""
    word = select(code.eq(0), 1 << (FRACTION - 1), code << FRACTION)
    return real(select(code.eq(0xFF), NAN, word))


def exponent_code(word: Expr) -> Expr:
    """The exponent of the nearest power of two, the upper one of two; NaN for what has none."""
    half = 1 << (FRACTION - 1)
    # Subnormal numbers have no leading bit that is left out; ml_dtypes rounds them up from 2^-127.
    small = (word > half).cast(u32)
    code = select(word < 2 * half, small, (word + half) >> FRACTION)
    code = select(word >= INFINITY, 0xFF, code)
    return select(word.eq(0), 0xFF, code)
