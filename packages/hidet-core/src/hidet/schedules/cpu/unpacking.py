"""What schedules of packed weights on the CPU share: numbers of 4 bits become float32."""

from __future__ import annotations

from typing import Any

from hidet.ir.expr import Cast, Expr, Reinterpret
from hidet.lang import cast
from hidet.lang.memory import get
from hidet.ops.matmul import Linear
from hidet.ops.packed_linear import MIDDLE, PackedLinear
from hidet.schedules.product import Product, product_of
from hidet.types import VectorType, f32, i16, i32

UNPACKED = 3.0
"""Multiply-adds that unpacking a vector of numbers costs; an estimate."""
SHIFT = 8388608
"""2^23: a float32 whose last bits are a whole number below 2^23 is this much more than it."""
SHIFT_BITS = 0x4B000000
"""Its bits."""


def layer_of(op: PackedLinear) -> Product:
    """The matrix product of the layer, were its weight not packed."""
    n, k, _ = op.sizes
    return product_of(Linear(op.x, op.x.dtype[n, k], op.bias))


def in_float32(op: PackedLinear) -> bool:
    """Whether sums are float32, which numbers are unpacked to, and there is something to sum."""
    p = layer_of(op)
    return p.wide is f32 and not p.empty


def halves(numbers: Expr, lanes: int) -> tuple[Expr, Expr]:
    """The low and the high numbers of a vector of bytes, each `SHIFT` too large: numbers take the
    last bits of `SHIFT`, so that no conversion is needed."""
    whole = Cast(Cast(numbers, i16), i32)  # step by step: so GCC widens vectors at once
    of = VectorType(f32, lanes)
    low, high = (Reinterpret(each | SHIFT_BITS, of) for each in (whole & 15, whole >> 4))
    return low, high


def shifted_zero(op: PackedLinear, zero_point: Any, column: Any, block: Any) -> Any:
    """The zero point of a block of a column, to which `SHIFT` is added."""
    if op.zero_point is None:
        return cast(float(SHIFT + MIDDLE), f32)
    return cast(get(zero_point, column, block), f32) + float(SHIFT)
