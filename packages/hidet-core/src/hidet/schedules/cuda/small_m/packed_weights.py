"""Packed weights on a GPU: numbers of 4 bits stay packed in memory, and are unpacked in registers.

A column lies as one row of words: eight neighbours along k in each, and behind all of them a head
for each block, which has its scale and its zero point. A kernel prepacks weights in that order
before the first call.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any, ClassVar

from hidet.compute import select
from hidet.ir.expr import Reinterpret
from hidet.lang import (
    Global,
    ScriptFunction,
    attr,
    cast,
    cdiv,
    minimum,
    script,
    script_module,
    static,
)
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.lang.memory import get
from hidet.ops.quantized.packed_linear import MIDDLE, PackedLinear
from hidet.schedules.product import Product
from hidet.schedules.typical import size_bytes
from hidet.schedules.unpacking import IN_WORD, SHIFT_BITS, layer_of, packed_number
from hidet.types import Size, TensorType, f32, i32, u16

THREADS = 256
"""Threads of a block that prepacks weights."""
WORDS = 4
"""Words of numbers that are read at once."""
BYTE = 0xFF


@dataclass(frozen=True)
class PackedProduct(Product):
    """The product of a linear layer whose weight is packed."""

    op: PackedLinear = field(kw_only=True)

    operands: ClassVar[tuple[str, ...]] = ("a", "packed", "scale", "zero_point", "bias")
    made: ClassVar[tuple[str, ...]] = ("b",)

    @property
    def packed(self) -> TensorType:
        """The numbers, as the operator takes them."""
        return self.op.packed

    @property
    def scale(self) -> TensorType:
        """The scales of blocks."""
        return self.op.scale

    @property
    def zero_point(self) -> TensorType | None:
        """The zero points of blocks."""
        return self.op.zero_point

    @property
    def blocks(self) -> Size:
        """Blocks of a column."""
        return self.scale.shape[1]

    @property
    def numbers(self) -> Size:
        """Words of numbers in a column: whole reads."""
        found: Size = cdiv(self.packed.shape[1], 4 * WORDS) * WORDS
        return found

    @property
    def head(self) -> int:
        """Words of a head: a scale of 16 bits has place beside the zero point."""
        return 1 if self.scale.dtype.nbytes == 2 else 2

    @property
    def b_stored(self) -> TensorType:
        return i32[self.n, self.numbers + self.blocks * self.head]

    @property
    def nbytes(self) -> tuple[float, float]:
        read, written = super().nbytes
        return read - size_bytes(self.b) + size_bytes(self.b_stored), written

    def unit_and_base(self, b: Any, j: Any, r: Any) -> tuple[Any, Any]:
        """The scale at row r of column j, and what is to be taken from numbers there, which are
        `SHIFT` too large. Rows that there are not count to the last block."""
        block = minimum(r // self.op.block, self.blocks - 1)
        word = get(b, j, self.numbers + block * self.head)
        if self.head == 1:
            scale = Reinterpret(cast(word & 0xFFFF, u16), self.scale.dtype)
            return cast(scale, f32), Reinterpret(word >> 16 & BYTE | SHIFT_BITS, f32)
        zero = get(b, j, self.numbers + block * self.head + 1)
        return Reinterpret(word, f32), Reinterpret(zero | SHIFT_BITS, f32)

    def placing(self, name: str, rows: int, kind: str) -> list[ScriptFunction]:
        """The kernel that prepacks the weight."""
        width = self.b_stored.shape[1]
        scale_type = self.scale
        zero_type = scale_type if self.zero_point is None else self.zero_point

        with script_module():

            @script(packed=self.packed, scale=scale_type, zero_point=zero_type, b=self.b_stored)
            def pack(packed: Global, scale: Global, zero_point: Global, b: Global) -> None:
                attr.func_name = f"{name}_pack"
                attr.cuda_grid_dim = cdiv(self.n * width, THREADS)
                attr.cuda_block_dim = THREADS
                at = blockIdx.x * THREADS + threadIdx.x
                if at < self.n * width:
                    j, place = at // width, at % width
                    word = cast(0, i32)
                    if place < self.numbers:
                        for near in static(range(IN_WORD)):
                            found = packed_number(self.op, packed, j, place * IN_WORD + near)
                            word = word | found << 4 * near
                    else:
                        behind = place - self.numbers
                        word = self.head_word(scale, zero_point, j, behind)
                    b[j, place] = word

        return [pack]

    def head_word(self, scale: Any, zero_point: Any, j: Any, place: Any) -> Any:
        """A word of the heads of a column."""
        block = place // self.head
        zero = MIDDLE if self.zero_point is None else cast(get(zero_point, j, block), i32)
        unit = get(scale, j, block)
        if self.head == 1:
            return cast(Reinterpret(unit, u16), i32) | cast(zero, i32) << 16
        return select((place % 2).eq(0), Reinterpret(unit, i32), cast(zero, i32))


@lru_cache(maxsize=1024)
def packed_product(op: PackedLinear) -> PackedProduct:
    """The product that a linear layer of packed weights asks for."""
    plain = layer_of(op)
    return PackedProduct(**{each.name: getattr(plain, each.name) for each in fields(plain)}, op=op)
