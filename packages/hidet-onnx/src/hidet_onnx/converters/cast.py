"""Element types: conversions, which saturate to types of 8 bits, and bits read as another type."""

from __future__ import annotations

from hidet import ops
from hidet.errors import BadArgument
from hidet.graph import Tensor
from hidet.types import (
    DType,
    bf16,
    f8e4m3,
    f8e4m3fnuz,
    f8e5m2,
    f8e5m2fnuz,
    f8e8m0,
    f16,
    f32,
    f64,
    i32,
    u8,
)
from hidet_onnx.converters.table import onnx
from hidet_onnx.dtypes import element

FLOAT8 = (f8e4m3, f8e4m3fnuz, f8e5m2, f8e5m2fnuz)
"""The types to which conversions saturate, or else give infinities or NaN."""


@onnx("Cast", since=6)
def cast(x: Tensor, *, to: int, saturate: int = 1, round_mode: str = "up") -> Tensor:
    """Each element as another type."""
    return saturated(x, element(to), saturate, round_mode)


@onnx("CastLike", since=15)
def cast_like(x: Tensor, like: Tensor, *, saturate: int = 1, round_mode: str = "up") -> Tensor:
    """Each element as the other operand's type."""
    return saturated(x, like.dtype, saturate, round_mode)


@onnx("BitCast", since=26)
def bit_cast(x: Tensor, *, to: int) -> Tensor:
    """The bits of each element read as another type."""
    return ops.bitcast(x, element(to))


def saturated(x: Tensor, result: DType, saturate: int, round_mode: str = "up") -> Tensor:
    """The cast to a type; what is beyond those of 8 bits becomes their largest number."""
    if x.dtype is result:
        return x
    if result is f8e8m0:
        return powers_of_two(x, bool(saturate), round_mode)
    if saturate and result in FLOAT8:
        wide = x if x.dtype in (f16, bf16, f32, f64) else ops.cast(x, f32)
        return ops.cast(ops.clamp(wide, *result.limits), result)
    return ops.cast(x, result)


def powers_of_two(x: Tensor, saturate: bool, round_mode: str) -> Tensor:
    """The size of each element as an exponent alone; 0 is the smallest one, infinity is NaN."""
    word = ops.bitwise_and(ops.bitcast(ops.cast(x, f32), i32), 0x7FFFFFFF)
    exponent, fraction = ops.shift_right(word, 23), ops.bitwise_and(word, 0x7FFFFF)
    last = 0xFE if saturate else 0xFF
    rounded = ops.clamp(ops.add(exponent, increment(exponent, fraction, round_mode)), 0, last)
    code = ops.where(ops.equal(exponent, 0xFF), exponent, rounded)
    return ops.bitcast(ops.cast(code, u8), f8e8m0)


def increment(exponent: Tensor, fraction: Tensor, round_mode: str) -> Tensor:
    """1 where a float32 rounds to the next power of two, else 0."""
    if round_mode == "down":
        return ops.zeros_like(exponent)
    if round_mode == "up":
        return ops.cast(ops.greater(fraction, 0), i32)
    if round_mode == "nearest":
        # Ties go up, but for that of subnormal numbers, 2^-127, which is a power of two itself.
        tie = ops.logical_and(ops.equal(fraction, 0x400000), ops.greater(exponent, 0))
        return ops.cast(ops.logical_or(ops.greater(fraction, 0x400000), tie), i32)
    raise BadArgument(f"round_mode is {round_mode!r}", help="use 'up', 'down' or 'nearest'")
