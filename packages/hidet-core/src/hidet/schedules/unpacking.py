"""What schedules of packed weights share: numbers of 4 bits become float32.

In the order of reading, a word of 32 bits holds eight numbers that meet in one lane of vectors: a
vector of words becomes eight vectors of numbers by shifts and masks, without moves between lanes.
"""

from __future__ import annotations

from typing import Any

from hidet.ir.expr import Expr, Reinterpret
from hidet.lang import cast
from hidet.lang.memory import get
from hidet.ops.products.matmul import Linear
from hidet.ops.quantized.packed_linear import MIDDLE, PackedLinear
from hidet.schedules.product import Product, product_of
from hidet.types import VectorType, f32, i32, u8

UNPACKED = 3.0
"""Multiply-adds that unpacking a vector of numbers costs; an estimate."""
IN_WORD = 8
"""Numbers of 4 bits in a word of the order of reading."""
SHIFT = 8388608
"""2^23: a float32 whose last bits are a whole number below 2^23 is this much more than it."""
SHIFT_BITS = 0x4B000000
"""Its bits."""


def layer_of(op: PackedLinear) -> Product:
    """The matmul of the layer, were its weight not packed."""
    n, k, _ = op.sizes
    return product_of(Linear(op.x, op.x.dtype[n, k], op.bias))


def in_float32(op: PackedLinear) -> bool:
    """Whether sums are float32, which numbers are unpacked to, and there is something to sum."""
    p = layer_of(op)
    return p.wide is f32 and not p.empty


def number(words: Expr, at: Any, lanes: int = 1) -> Expr:
    """Number `at` of each word of a vector, or of one word, `SHIFT` too large: it takes the last
    bits of `SHIFT`, so that no conversion is needed."""
    bits = (words >> 4 * at & 15) | SHIFT_BITS
    return Reinterpret(bits, VectorType(f32, lanes) if lanes > 1 else f32)


def shifted_zero(op: PackedLinear, zero_point: Any, column: Any, block: Any) -> Any:
    """The zero point of a block of a column, to which `SHIFT` is added."""
    if op.zero_point is None:
        return cast(float(SHIFT + MIDDLE), f32)
    return cast(get(zero_point, column, block), f32) + float(SHIFT)


def packed_number(op: PackedLinear, packed: Any, column: Any, r: Any) -> Any:
    """Number r of a column, as it lies in `packed`; 0 beyond its edges."""
    return cast(get(packed, column, r // 2) >> cast(r % 2 * 4, u8) & 15, i32)
