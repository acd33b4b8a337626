"""What the bits of floats tell: exponents, and the numbers next to them."""

from __future__ import annotations

import math

from hidet import ops
from hidet.errors import NotYet
from hidet.graph import Tensor
from hidet.types import DType, bf16, f16, f32, f64, i16, i32, i64
from hidet_torch.converters.table import aten, torch
from hidet_torch.memory.dtypes import result_type

FRACTION, BIAS, MASK = 52, 1022, 0x7FF
"""The bits of a float64's fraction, the exponent of numbers from 1/2 on, and that of no number."""
SCALE = 54
"""By so many doublings the smallest float64 has an exponent of its own."""

BITS: dict[DType, DType] = {f16: i16, bf16: i16, f32: i32, f64: i64}


@torch(aten.frexp.Tensor)
def frexp(x: Tensor) -> tuple[Tensor, Tensor]:
    """x as mantissa times 2^exponent, the mantissa from 1/2 up to 1; 0, infinities and NaN are
    their own mantissas."""
    wide = ops.cast(x, f64)
    is_small = ops.less(ops.absolute(wide), 2.0**-1000)
    bits = ops.bitcast(ops.where(is_small, wide * 2.0**SCALE, wide), i64)
    exponent = ops.bitwise_and(ops.shift_right(bits, FRACTION), MASK) - BIAS
    exponent = ops.where(is_small, exponent - SCALE, exponent)
    rest = ops.bitwise_and(bits, ~(MASK << FRACTION))
    mantissa = ops.bitcast(ops.bitwise_or(rest, BIAS << FRACTION), f64)
    plain = ops.logical_and(ops.isfinite(wide), ops.not_equal(wide, 0.0))
    found = ops.where(plain, mantissa, wide), ops.where(plain, exponent, 0)
    return ops.cast(found[0], x.dtype), ops.cast(found[1], i32)


@torch(aten.nextafter.default)
def nextafter(x: Tensor, y: Tensor) -> Tensor:
    """The number next to x on the way to y."""
    of = result_type(x, y)
    if of not in BITS:
        raise NotYet(f"the numbers next to {of.name}")
    a, b = ops.cast(x, of), ops.cast(y, of)
    bits = ops.bitcast(a, BITS[of])
    # Bits count away from zero on both sides of it.
    away = ops.equal(ops.greater(b, a), ops.greater(a, 0.0))
    step = ops.cast(away, bits.dtype) * 2 - 1
    one = ops.full((), 1, bits.dtype, device=x.device)
    least = ops.copysign(ops.bitcast(one, of), b)
    moved = ops.where(ops.equal(a, 0.0), least, ops.bitcast(ops.add(bits, step), of))
    found = ops.where(ops.equal(a, b), b, moved)
    missing = ops.logical_or(ops.isnan(a), ops.isnan(b))
    return ops.where(missing, math.nan, found, dtype=of)
