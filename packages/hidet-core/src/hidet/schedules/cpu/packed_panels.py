"""Linear layers of packed weights on the CPU where rows are many: weights are unpacked to panels.

A thread unpacks a stretch of a panel of columns, which its caches hold, and multiplies it by as
many panels of rows as keep their sums there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hidet.cost import Work
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
)
from hidet.lang.memory import get
from hidet.ops.quantized.packed_linear import PackedLinear
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cpu.panel_elements import in_sums
from hidet.schedules.cpu.panel_layout import STRETCH, Panels, Registers
from hidet.schedules.cpu.panel_tiles import adding_stretch, writing
from hidet.schedules.cpu.panels import making_rows
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

TOGETHER = 8
"""Panels of rows that share what is unpacked."""


class PackedRegisters(Registers):
    """The tile of accumulators of a layer; its columns are those of the result."""

    def fits(self, op: PackedLinear, target: Target) -> bool:
        """Whether the tile has registers."""
        return not self.flip and self.fits_on(target)

    def work(self, op: PackedLinear, target: Target) -> Work:
        """The products, and the weight unpacked once for panels of rows that share it."""
        t = PackedPanels(op, self, target)
        products = self.work_of(t)
        times = -(-estimated(t.p.m) // (t.height * TOGETHER))
        unpacked = 2.0 * times * estimated(t.p.k) * estimated(t.lane_tiles) * t.width * UNPACKED
        read = size_bytes(op.packed) + size_bytes(op.scale)
        return replace(products, bytes_read=read, flops=products.flops + unpacked)


class PackedPanels(Panels):
    """Where the numbers of a weight lie: words hold neighbours along k, and words of one panel lie
    in the order of reading."""

    def __init__(self, op: PackedLinear, registers: Registers, target: Target) -> None:
        p = layer_of(op)
        super().__init__(p, registers, target, in_sums(p))
        self.op, self.at_once = op, False
        self.part = min(op.block, STRETCH)
        """Neighbours along k that are unpacked by one scale of each column."""
        self.alike = min(self.part, IN_WORD)
        """Those of one word."""

    @property
    def prefetches(self) -> bool:
        """No: columns are unpacked where the cache has them."""
        return False

    def within(self, r: Any) -> Any:
        """Where in a word the first of `alike` neighbours is."""
        return 0 if self.alike == IN_WORD else r % IN_WORD

    @property
    def order(self) -> TensorType:
        """The type of the weight in the order of reading."""
        return i32[self.lane_tiles, cdiv(self.p.k, IN_WORD), self.width]


@schedule_for(
    PackedLinear, target="cpu", space=PackedRegisters,
    when=lambda op, target: in_float32(op),
)  # fmt: skip
def packed_panels(op: PackedLinear, target: Target, point: PackedRegisters) -> Scheduled:
    """The weight in the order of reading, before the first call; then panels of x, and tiles."""
    t = PackedPanels(op, point, target)
    kernels = [ordering(t), multiplying(t)]
    workspaces = ["order", "rows"]
    return Scheduled(assemble(op.name, kernels, op.operand_labels(), ["y"], workspaces), point)


def ordering(t: PackedPanels) -> ScriptFunction:
    """The kernel that puts numbers in the order in which they are read."""
    op = t.op

    with script_module():

        @script(packed=op.packed, order=t.order)
        def pack(packed: Global, order: Global) -> None:
            attr.func_kind = "cpu_kernel"
            attr.func_name = f"{op.name}_pack"
            for panel in parallel(t.lane_tiles):
                for j in range(t.width):
                    for eight in range(cdiv(t.p.k, IN_WORD)):
                        word = cast(0, i32)
                        for at in static(range(IN_WORD)):
                            r = eight * IN_WORD + at
                            found = packed_number(op, packed, panel * t.width + j, r)
                            word = word | found << 4 * at
                        order[panel, eight, j] = word

    return pack


def multiplying(t: PackedPanels) -> ScriptFunction:
    """The kernel that multiplies: panels of x, then tiles of panels that share what is unpacked."""
    op, p = t.op, t.p
    groups = cdiv(t.row_tiles, TOGETHER)
    zero_type, bias_type = operand_type(op.zero_point, op.packed), operand_type(op.bias, p.c)

    with script_module():
        make_rows, unpack = making_rows(t), unpacking(t)
        add_stretch, write = adding_stretch(t, t.heights), writing(t)

        @script(
            x=op.x, scale=op.scale, zero_point=zero_type, bias=bias_type, order=t.order,
            rows=t.row_panels, y=p.c,
        )  # fmt: skip
        def multiply(
            x: Global, scale: Global, zero_point: Global, bias: Global, order: Global, rows: Global,
            y: Global,
        ) -> None:  # fmt: skip
            attr.func_kind = "cpu_kernel"
            attr.func_name = op.name
            for panel in parallel(t.row_tiles):
                make_rows(x, x, rows, rows, panel, panel)  # rows of x need no table
            for number in parallel(t.lane_tiles * groups):
                columns, top = number // groups, number % groups * TOGETHER
                tiles = min(TOGETHER, t.row_tiles - top)
                done = register_tensor(f32, (TOGETHER, t.height, t.width), init=0)
                weight = register_tensor(f32, (1, STRETCH, t.width))
                for stretch in range(cdiv(p.k, STRETCH)):
                    start = stretch * STRETCH
                    count = min(STRETCH, p.k - start)
                    unpack(scale, zero_point, order, weight, columns, start, count)
                    for tile in range(tiles):
                        panel = top + tile
                        there = t.there(rows, panel)
                        add_stretch(rows, weight, done, tile, panel, start, 0, 0, count, there)
                for tile in range(tiles):
                    write(bias, rows, done, tile, y, top + tile, columns)

    return multiply


def unpacking(t: PackedPanels) -> ScriptFunction:
    """A part of a kernel: unpacks a stretch of a panel of columns, one word after the other."""
    lanes, op = t.lanes, t.op

    @script
    def unpack(scale, zero_point, order, weight, columns, start, count):  # type: ignore[no-untyped-def]
        units = register_tensor(f32, (t.width,))
        bases = register_tensor(f32, (t.width,))
        for part in range(cdiv(count, t.part)):
            first = part * t.part
            for j in range(t.width):
                column, block = columns * t.width + j, (start + first) // op.block
                units[j] = cast(get(scale, column, block), f32)
                bases[j] = shifted_zero(op, zero_point, column, block)
            for eight in range(cdiv(min(t.part, count - first), t.alike)):
                r = first + eight * t.alike
                for v in static(t.vectors):
                    at = v * lanes
                    words = load(order, columns, (start + r) // IN_WORD, at, lanes=lanes)
                    base, unit = load(bases, at, lanes=lanes), load(units, at, lanes=lanes)
                    for each in static(range(t.alike)):
                        whole = number(words, t.within(start + r) + each, lanes)
                        store(weight, 0, r + each, at, (whole - base) * unit)

    return unpack
