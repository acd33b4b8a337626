"""Linear layers of packed weights on the CPU: numbers of 4 bits are unpacked in registers.

Weights stay packed, in an order in which no number moves between lanes (`unpacking.py`). What is
unpacked is multiplied by several rows of x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hidet.cost import Work
from hidet.ir.expr import Expr, wrap
from hidet.lang import (
    Global,
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
from hidet.ops.quantized.packed_linear import PackedLinear
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.space import choice
from hidet.schedules.typical import estimated, size_bytes
from hidet.schedules.unpacking import (
    IN_WORD,
    UNPACKED,
    in_float32,
    layer_of,
    number,
    packed_number,
    shifted_zero,
)
from hidet.target import Target
from hidet.types import TensorType, f32, i32


@dataclass(frozen=True)
class Unpacked:
    """The rows of x and of the weight that meet in registers."""

    rows: int = choice(1, 2, 4, 8)
    columns: int = choice(8, 4, 2)

    def fits(self, op: PackedLinear, target: Target) -> bool:
        """Whether accumulators, rows of x and what is unpacked have registers."""
        vectors = self.rows * self.columns + 2 * self.rows + 3
        return vectors <= target.max_registers_per_thread

    def work(self, op: PackedLinear, target: Target) -> Work:
        """Whole tiles; what is unpacked serves all rows of a tile."""
        p = Packed(op, self, target).p
        rows, columns = estimated(p.m), estimated(p.n)
        tiles = -(-rows // self.rows) * -(-columns // self.columns)
        each = self.rows * self.columns * estimated(p.k) * (1 + UNPACKED / self.rows)
        read = size_bytes(op.packed) + size_bytes(op.scale)
        return Work(read, size_bytes(p.c), 2.0 * tiles * each, "float32", tiles, 1)


class Packed:
    """Where the numbers of a weight lie."""

    def __init__(self, op: PackedLinear, point: Unpacked, target: Target) -> None:
        self.op, self.point, self.p = op, point, layer_of(op)
        self.lanes = min(target.vector_bytes // f32.nbytes, op.block)
        self.reach = IN_WORD * self.lanes
        """Neighbours along k in a vector of words."""
        self.steps = cdiv(self.p.k, self.reach)
        self.alike = min(IN_WORD, op.block // self.lanes)
        """Numbers of a word that have one scale."""

    @property
    def order(self) -> TensorType:
        """The type of the weight in the order of reading: neighbours along k are in the lanes of a
        vector, stretches of as many in the numbers of its words."""
        return i32[self.p.n, self.steps, self.lanes]

    def products(self, row: Any, i: int, words: Expr, first: int, base: Expr) -> Expr:
        """The products of row i and the numbers `first` on that have one scale, lane by lane."""
        total: Expr | float = 0.0
        for at in range(first, first + self.alike):
            x = load(row, i, at * self.lanes, lanes=self.lanes)
            total = (number(words, at, self.lanes) - base) * x + total
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
    """The kernel that puts numbers in the order in which they are read."""
    op, lanes = t.op, t.lanes

    with script_module():

        @script(packed=op.packed, order=t.order)
        def pack(packed: Global, order: Global) -> None:
            attr.func_kind = "cpu_kernel"
            attr.func_name = f"{op.name}_pack"
            for j in parallel(t.p.n):
                for step in range(t.steps):
                    for lane in range(lanes):
                        word = cast(0, i32)
                        for at in static(range(IN_WORD)):
                            r = step * t.reach + at * lanes + lane
                            word = word | packed_number(op, packed, j, r) << 4 * at
                        order[j, step, lane] = word

    return pack


def multiplying(t: Packed) -> ScriptFunction:
    """The kernel that multiplies: tiles of a few rows and columns, vectors along k."""
    op, p = t.op, t.p
    height, width = t.point.rows, t.point.columns
    across = cdiv(p.n, width)
    zero_type, bias_type = operand_type(op.zero_point, op.packed), operand_type(op.bias, p.c)

    with script_module():
        add_step, write = adding_step(t), writing(t)

        @script(x=op.x, scale=op.scale, zero_point=zero_type, bias=bias_type, order=t.order, y=p.c)
        def multiply(
            x: Global, scale: Global, zero_point: Global, bias: Global, order: Global, y: Global,
        ) -> None:  # fmt: skip
            attr.func_kind = "cpu_kernel"
            attr.func_name = op.name
            for tile in parallel(cdiv(p.m, height) * across):
                top, left = tile // across * height, tile % across * width
                accumulators = register_tensor(f32, (height, width, t.lanes), init=0)
                for step in range(t.steps):
                    add_step(x, scale, zero_point, order, accumulators, top, left, step)
                write(bias, accumulators, y, top, left)

    return multiply


def adding_step(t: Packed) -> ScriptFunction:
    """A part of a kernel: adds the products of a vector of words of each column and of each row."""
    op, p, lanes = t.op, t.p, t.lanes
    rows, columns = range(t.point.rows), range(t.point.columns)

    @script
    def add_step(x, scale, zero_point, order, accumulators, top, left, step):  # type: ignore[no-untyped-def]
        row = register_tensor(f32, (t.point.rows, t.reach))
        for i in static(rows):
            for r in vectorize(t.reach):
                row[i, r] = cast(get(x, *p.a_at(0, top + i, step * t.reach + r)), f32)
        for j in static(columns):
            column = min(left + j, p.n - 1)
            words = load(order, column, step, 0, lanes=lanes)
            for first in static(range(0, IN_WORD, t.alike)):
                block = (step * t.reach + first * lanes) // op.block
                base = shifted_zero(op, zero_point, column, block)
                unit = cast(get(scale, column, block), f32)
                for i in static(rows):
                    kept = load(accumulators, i, j, 0, lanes=lanes)
                    store(
                        accumulators, i, j, 0, kept + unit * t.products(row, i, words, first, base)
                    )

    return add_step


def writing(t: Packed) -> ScriptFunction:
    """A part of a kernel: adds up the lanes of each sum and writes it."""
    op, p = t.op, t.p

    @script
    def write(bias, accumulators, y, top, left):  # type: ignore[no-untyped-def]
        for i in range(t.point.rows):
            for j in range(t.point.columns):
                total = cast(0.0, f32)
                for lane in range(t.lanes):
                    total += accumulators[i, j, lane]
                if op.bias is not None:
                    total += cast(get(bias, left + j), f32)
                if p.is_there(top + i, left + j):
                    y.put(*p.c_at(0, top + i, left + j), cast(total, p.c.dtype))

    return write
