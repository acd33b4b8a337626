"""Convolutions on the CPU without windows in memory: a padded copy of x, read where it lies.

In the copy a row of the result and the next one are as far apart as rows of x, so the places of all
rows are neighbours, a few places at the end of each row apart that are not written. A window
position is a shift of them: each load is one vector of neighbouring places.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type, index"
from dataclasses import dataclass
from math import prod

from hidet.compute import accumulator
from hidet.cost import Work
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
from hidet.ops.conv import Conv
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.convolution import has_channels
from hidet.schedules.cpu.panel_layout import STRETCH
from hidet.schedules.space import choice
from hidet.schedules.typical import estimated
from hidet.target import Target

COPIED = 8.0
"""Operations that an element of the copy costs; an estimate."""


@dataclass(frozen=True)
class Tile:
    """The tile of sums that a thread keeps in registers: output channels by vectors of places."""

    rows: int = choice(8, 14, 12, 6, 4, 2)
    vectors: int = choice(2, 3, 1, 4)

    def fits(self, op: Conv, target: Target) -> bool:
        """Whether sums, a row of vectors and a spread element have registers."""
        return self.rows * self.vectors + self.vectors + 1 <= target.max_registers_per_thread

    def work(self, op: Conv, target: Target) -> Work:
        """Whole tiles, two loads at most for each multiply-add, and the copy."""
        r = Rows(op, self, target)
        sums = self.rows * self.vectors
        busy = min(1.0, sums / 10) * min(1.0, 1.5 * sums / (self.rows + self.vectors))
        tiles = estimated(r.stacks, r.images) * estimated(r.row_tiles) * estimated(r.place_tiles)
        flops = 2.0 * tiles * r.height * r.width * estimated(r.each) * r.taps / busy
        flops += COPIED * estimated(r.planes, r.images) * r.phases * estimated(r.lines * r.line)
        return Work(0, 0, flops, r.wide.name, tiles, 1)


class Rows:
    """Sizes of the copy, and where a window's positions are in it."""

    def __init__(self, op: Conv, tile: Tile, target: Target) -> None:
        self.op, self.wide = op, accumulator(op.x.dtype)
        self.lanes = max(2, target.vector_bytes // self.wide.nbytes)
        self.height, self.vectors = tile.rows, range(tile.vectors)
        self.width = self.lanes * tile.vectors
        self.each, self.channels = op.each, op.weight.shape[0] // op.groups
        self.images, self.planes = op.x.shape[0], op.x.shape[0] * op.x.shape[1]
        self.stacks = self.images * op.groups
        self.out = op.spatial()
        (down, across), (down_by, across_by) = op.stride, op.dilation
        high, wide = map(int, op.window)
        reach = (high - 1) * down_by, (wide - 1) * across_by
        self.phases_down, self.phases_across = min(down, reach[0] + 1), min(across, reach[1] + 1)
        self.phases = self.phases_down * self.phases_across
        self.line = self.out[1] + reach[1] // across
        """Places from a row of the result to the next."""
        self.place_tiles = cdiv(self.out[0] * self.line, self.width)
        last = self.place_tiles * self.width + reach[0] // down * self.line + reach[1] // across
        self.lines = cdiv(last, self.line)
        self.row_tiles = cdiv(self.channels, self.height)
        self.copy_type = self.wide[self.planes, self.phases, self.lines * self.line]
        self.window = high, wide
        self.down, self.across, self.down_by, self.across_by = down, across, down_by, across_by
        self.taps = high * wide
        self.panel_type = self.wide[op.groups * self.row_tiles, self.each * self.taps, self.height]
        places = self.phases * estimated(self.lines * self.line)
        self.weights_stay = estimated(self.channels) * self.taps <= places
        """Whether all weights meet a tile of places before the next one, or all places a tile of
        channels: what is smaller stays in the cache."""


def is_read_in_rows(op: Conv, target: Target) -> bool:
    """Whether it is in two dimensions, of floats, with a window of more than one place."""
    if len(op.stride) != 2 or op.channels_last or not op.x.dtype.is_float or not has_channels(op):
        return False
    if not all(isinstance(size, int) for size in (*op.window, *op.spatial(), *op.weight.shape)):
        return False
    return prod(map(estimated, op.window)) > 1


@schedule_for(Conv, target="cpu", space=Tile, when=is_read_in_rows)
def conv_rows(op: Conv, target: Target, point: Tile) -> Scheduled:
    """The copy, then tiles of channels by positions over the threads."""
    r = Rows(op, point, target)
    row_tiles, place_tiles, bias_type = r.row_tiles, r.place_tiles, operand_type(op.bias, op.x)
    (down, across), (above, _), (before, _) = op.stride, *op.padding

    with script_module():
        multiply, write, pack = multiplying(r), writing(r), packing(r)

        @script
        def conv(
            x: op.x, weight: op.weight, bias: bias_type,
            panels: r.panel_type, copy: r.copy_type, y: op.infer(),
        ) -> None:  # fmt: skip
            attr.func_kind = "cpu_kernel"
            attr.func_name = op.name
            for plane in parallel(r.planes):
                image, channel = plane // op.x.shape[1], plane % op.x.shape[1]
                for phase in range(r.phases):
                    top = phase // r.phases_across - above
                    left = phase % r.phases_across - before
                    for i in range(r.lines):
                        for j in vectorize(r.line):
                            found = get(x, image, channel, top + i * down, left + j * across)
                            copy[plane, phase, i * r.line + j] = cast(found, r.wide)
            for number in parallel(r.stacks * place_tiles * row_tiles):
                stack = number // (place_tiles * row_tiles)
                rest = number % (place_tiles * row_tiles)
                tile = rest // row_tiles if r.weights_stay else rest % place_tiles
                row_tile = rest % row_tiles if r.weights_stay else rest // place_tiles
                done = register_tensor(r.wide, (r.height, r.width), init=0)
                panel = stack % op.groups * row_tiles + row_tile
                multiply(copy, panels, done, stack * r.each, panel, tile * r.width)
                write(bias, done, y, stack, row_tile * r.height, tile * r.width)

    names = op.operand_labels()
    return Scheduled(assemble(op.name, [pack, conv], names, ["y"], ["panels", "copy"]), point)


def packing(r: Rows) -> ScriptFunction:
    """The kernel that puts weights in the order in which tiles read them."""
    op, count = r.op, r.taps
    wide = r.window[1]

    @script
    def pack(weight: op.weight, panels: r.panel_type) -> None:
        attr.func_kind = "cpu_kernel"
        attr.func_name = f"{op.name}_pack"
        for panel in parallel(op.groups * r.row_tiles):
            group, top = panel // r.row_tiles, panel % r.row_tiles * r.height
            for c in range(r.each):
                for tap in range(count):
                    for i in range(r.height):
                        found = cast(0.0, r.wide)
                        if top + i < r.channels:
                            k = group * r.channels + top + i
                            found = cast(get(weight, k, c, tap // wide, tap % wide), r.wide)
                        panels[panel, c * count + tap, i] = found

    return pack


def multiplying(r: Rows) -> ScriptFunction:
    """A part of a kernel: (copy, panels, done, plane, panel, left). The sums of a tile."""
    lanes, vectors = r.lanes, r.vectors
    high, wide = r.window
    step = max(1, STRETCH // (high * wide))

    @script
    def multiply(copy, panels, done, plane, panel, left):  # type: ignore[no-untyped-def]
        # In stretches: long sums of rounded products lose digits, sums of short ones fewer.
        for stretch in range(cdiv(r.each, step)):
            sums = register_tensor(r.wide, (r.height, r.width), init=0)
            for turn in range(min(step, r.each - stretch * step)):
                c = stretch * step + turn
                for i_tap in range(high):
                    for j_tap in range(wide):
                        down, across = i_tap * r.down_by, j_tap * r.across_by
                        phase = down % r.down * r.phases_across + across % r.across
                        place = left + down // r.down * r.line + across // r.across
                        row = [
                            load(copy, plane + c, phase, place + v * lanes, lanes=lanes)
                            for v in vectors
                        ]
                        for i in static(range(r.height)):
                            each = panels[panel, (c * high + i_tap) * wide + j_tap, i]
                            for v in static(vectors):
                                kept = load(sums, i, v * lanes, lanes=lanes)
                                store(sums, i, v * lanes, kept + each * row[v])
            # Apart from the tile: sums stay in registers only while every index is a constant.
            for own in static([(i, v * lanes) for i in range(r.height) for v in vectors]):
                before = load(done, *own, lanes=lanes)
                store(done, *own, before + load(sums, *own, lanes=lanes))

    return multiply


def writing(r: Rows) -> ScriptFunction:
    """A part of a kernel: (bias, done, y, stack, top, left). Each row of the result that a tile
    touches is written under a mask."""
    op, wide = r.op, r.wide
    touched = (r.width + estimated(r.line) - 2) // estimated(r.line) + 1

    @script
    def write(bias, done, y, stack, top, left):  # type: ignore[no-untyped-def]
        image, group = stack // op.groups, stack % op.groups
        for i in range(r.height):
            k = group * r.channels + top + i
            for turn in range(touched):
                line = left // r.line + turn
                for lane in vectorize(r.width):
                    value = done[i, lane]
                    if op.bias is not None:
                        value += cast(get(bias, k), wide)
                    column = left + lane - line * r.line
                    if top + i < r.channels:
                        y.put(image, k, line, column, cast(value, op.result))

    return write
