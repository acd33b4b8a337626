"""Casts to narrow floats with other rules than those of cast: saturation, and rounding."""

from __future__ import annotations

from typing import Any, Literal

from hidet.errors import BadArgument
from hidet.graph import Tensor
from hidet.ops.elementwise.binary import (
    add,
    bitwise_and,
    logical_and,
    logical_or,
    minimum,
    shift_right,
)
from hidet.ops.elementwise.compare import equal, greater
from hidet.ops.elementwise.select import clamp, where
from hidet.ops.tensors.bitcast import bitcast
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import zeros_like
from hidet.types import bf16, f8e8m0, f16, f32, f64, i32, u8
from hidet.types import dtype as dtype_of

Rounding = Literal["up", "down", "nearest"]


def saturating_cast(x: Tensor, dtype: Any) -> Tensor:
    """Each element as a float type; what is larger than its largest number, infinities too, becomes
    that number, where `cast` gives an infinity or NaN. NaN stays NaN. Source: ONNX Cast-19."""
    to = dtype_of(dtype)
    if not to.is_float:
        raise BadArgument(f"{to.name} is no float type", help="use `clamp` and `cast`")
    if x.dtype is to:
        return x
    wide = x if x.dtype in (f16, bf16, f32, f64) else cast(x, f32)
    return cast(clamp(wide, *to.limits), to)


def exponent_cast(x: Tensor, *, rounding: Rounding = "nearest", saturate: bool = False) -> Tensor:
    """The size of each element as float8_e8m0, a power of two; its sign is lost.

    0 becomes the smallest power, 2^-127; infinities and NaN are NaN, and so is what rounds to more
    than the largest power, 2^127, unless casts saturate. Ties of `nearest` go up. BadArgument for
    other roundings. Source: ONNX Cast-24; PyTorch rounds to the nearest and does not saturate.
    """
    word = bitwise_and(bitcast(cast(x, f32), i32), 0x7FFFFFFF)
    exponent, fraction = shift_right(word, 23), bitwise_and(word, 0x7FFFFF)
    rounded = add(exponent, increment(exponent, fraction, rounding))
    if saturate:
        rounded = minimum(rounded, 0xFE)
    code = where(equal(exponent, 0xFF), exponent, rounded)
    return bitcast(cast(code, u8), f8e8m0)


def increment(exponent: Tensor, fraction: Tensor, rounding: Rounding) -> Tensor:
    """1 where a float32 rounds to the next power of two, else 0."""
    if rounding == "down":
        return zeros_like(exponent)
    if rounding == "up":
        return cast(greater(fraction, 0), i32)
    if rounding == "nearest":
        # The tie of subnormal numbers, 2^-127, is a power of two itself.
        tie = logical_and(equal(fraction, 0x400000), greater(exponent, 0))
        return cast(logical_or(greater(fraction, 0x400000), tie), i32)
    raise BadArgument(f"rounding is {rounding!r}", help="use 'up', 'down' or 'nearest'")
