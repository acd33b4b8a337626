"""Linear layers of packed weights on the CPU: numbers of 4 bits are unpacked in registers.

Weights stay packed, in another order: of each stretch of 2 · lanes neighbours in a row a byte holds
one of the first half and one of the second, so that a vector of bytes becomes two vectors of
neighbours by a mask and by a shift. What is unpacked is multiplied by several rows of x.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type"
from dataclasses import dataclass
from typing import Any

from hidet.cost import Work
from hidet.ir.expr import Expr, wrap
from hidet.lang import (
    ScriptFunction,
    attr,
    cast,
    cdiv,
    load,
    parallel,
    register_tensor,
    script,
    script_module,
    static,
    store,
    vectorize,
)
from hidet.lang.memory import get
from hidet.ops.packed_linear import PackedLinear
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.contraction import known, size_bytes
from hidet.schedules.cpu.unpacking import UNPACKED, halves, in_float32, layer_of, shifted_zero
from hidet.schedules.space import choice
from hidet.target import Target
from hidet.types import TensorType, f32, u8


@dataclass(frozen=True)
class Unpacked:
    """The rows of x and of the weight that meet in registers."""

    rows: int = choice(1, 2, 4, 8)
    columns: int = choice(8, 4, 2)

    def fits(self, op: PackedLinear, target: Target) -> bool:
        """Whether sums, rows of x and what is unpacked have registers."""
        vectors = self.rows * self.columns + 2 * self.rows + 3
        return vectors <= target.max_registers_per_thread

    def work(self, op: PackedLinear, target: Target) -> Work:
        """Whole tiles; what is unpacked serves all rows of a tile."""
        p = Packed(op, self, target).p
        rows, columns = known(p.m), known(p.n)
        tiles = -(-rows // self.rows) * -(-columns // self.columns)
        each = self.rows * self.columns * known(p.k) * (1 + UNPACKED / self.rows)
        read = size_bytes(op.packed) + size_bytes(op.scale)
        return Work(read, size_bytes(p.c), 2.0 * tiles * each, "float32", tiles, 1)


class Packed:
    """Where the numbers of a weight lie."""

    def __init__(self, op: PackedLinear, point: Unpacked, target: Target) -> None:
        self.op, self.point, self.p = op, point, layer_of(op)
        self.blocks = op.sizes[2]
        self.lanes = min(target.vector_bytes // f32.nbytes, op.block // 2)
        self.parts = op.block // (2 * self.lanes)
        """Vectors of bytes in a block."""

    @property
    def order(self) -> TensorType:
        """The type of the weight in the order of reading."""
        return u8[self.p.n, self.blocks * self.parts, self.lanes]

    def products(self, row: Any, i: int, order: Any, column: Any, block: Any, base: Expr) -> Expr:
        """The products of a block of row i and of a column, added up lane by lane."""
        total: Expr | float = 0.0
        for part in range(self.parts):
            numbers = load(order, column, block * self.parts + part, 0, lanes=self.lanes)
            for half, unpacked in enumerate(halves(numbers, self.lanes)):
                at = (2 * part + half) * self.lanes
                total = (unpacked - base) * load(row, i, at, lanes=self.lanes) + total
        return wrap(total)


@schedule_for(
    PackedLinear, target="cpu", space=Unpacked,
    when=lambda op, target: in_float32(op),
)  # fmt: skip
def packed_rows(op: PackedLinear, target: Target, point: Unpacked) -> Scheduled:
    """The weight in the order of reading, before the first call, then tiles over the threads."""
    t = Packed(op, point, target)
    kernels = [ordering(t), multiplying(t)]
    return Scheduled(assemble(op.name, kernels, op.operand_labels(), ["y"], ["order"]), point)


def ordering(t: Packed) -> ScriptFunction:
    """The kernel that puts bytes in the order in which they are read."""
    lanes = t.lanes

    with script_module():

        @script
        def pack(packed: t.op.packed, order: t.order) -> None:
            attr.func_kind = "cpu_kernel"
            attr.func_name = f"{t.op.name}_pack"
            for j in parallel(t.p.n):
                for part in range(t.blocks * t.parts):
                    for lane in range(lanes):
                        first = part * 2 * lanes + lane
                        second = first + lanes
                        low = packed[j, first // 2] >> cast(first % 2 * 4, u8) & 15
                        high = packed[j, second // 2] >> cast(second % 2 * 4, u8) & 15
                        order[j, part, lane] = low | high << 4

    return pack


def multiplying(t: Packed) -> ScriptFunction:
    """The kernel that multiplies: tiles of a few rows and columns, vectors along k."""
    op, p = t.op, t.p
    height, width = t.point.rows, t.point.columns
    across = cdiv(p.n, width)
    zero_type, bias_type = operand_type(op.zero_point, op.packed), operand_type(op.bias, p.c)

    with script_module():
        add_block, write = adding_block(t), writing(t)

        @script
        def multiply(
            x: op.x, scale: op.scale, zero_point: zero_type, bias: bias_type, order: t.order,
            y: p.c,
        ) -> None:  # fmt: skip
            attr.func_kind = "cpu_kernel"
            attr.func_name = op.name
            for tile in parallel(cdiv(p.m, height) * across):
                top, left = tile // across * height, tile % across * width
                sums = register_tensor(f32, (height, width, t.lanes), init=0)
                for block in range(t.blocks):
                    add_block(x, scale, zero_point, order, sums, top, left, block)
                write(bias, sums, y, top, left)

    return multiply


def adding_block(t: Packed) -> ScriptFunction:
    """A part of a kernel: adds the products of a block of each row and column to the sums."""
    op, p, lanes, size = t.op, t.p, t.lanes, t.op.block
    rows, columns = range(t.point.rows), range(t.point.columns)

    @script
    def add_block(x, scale, zero_point, order, sums, top, left, block):  # type: ignore[no-untyped-def]
        row = register_tensor(f32, (t.point.rows, size))
        for i in static(rows):
            for r in vectorize(size):
                row[i, r] = cast(get(x, *p.a_at(0, top + i, block * size + r)), f32)
        for j in static(columns):
            column = min(left + j, p.n - 1)
            base = shifted_zero(op, zero_point, column, block)
            unit = cast(get(scale, column, block), f32)
            for i in static(rows):
                kept = load(sums, i, j, 0, lanes=lanes)
                store(sums, i, j, 0, kept + unit * t.products(row, i, order, column, block, base))

    return add_block


def writing(t: Packed) -> ScriptFunction:
    """A part of a kernel: adds up the lanes of each sum and writes it."""
    op, p = t.op, t.p

    @script
    def write(bias, sums, y, top, left):  # type: ignore[no-untyped-def]
        for i in range(t.point.rows):
            for j in range(t.point.columns):
                total = cast(0.0, f32)
                for lane in range(t.lanes):
                    total += sums[i, j, lane]
                if op.bias is not None:
                    total += cast(get(bias, left + j), f32)
                if p.is_there(top + i, left + j):
                    y.put(*p.c_at(0, top + i, left + j), cast(total, p.c.dtype))

    return write
