"""Depthwise convolutions on the CPU: a padded copy of each channel, then tiles of rows by vectors.

Columns that a stride apart belong to one window position are side by side in the copy, so that
every load of a window is one vector without conditions, which several rows of the result take.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, TypeAlias

from hidet.cost import Work
from hidet.lang import (
    Global,
    ScriptFunction,
    attr,
    cast,
    cdiv,
    load,
    minimum,
    parallel,
    register_tensor,
    script,
    script_module,
    static,
    store,
    vectorize,
)
from hidet.lang.memory import get
from hidet.ops.windows.conv import Conv
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cpu.conv_rows_layout import COPIED, HELD, WRITTEN
from hidet.schedules.cpu.panel_layout import HALF, evened
from hidet.schedules.depthwise import Depthwise, is_depthwise
from hidet.schedules.space import choice
from hidet.schedules.typical import estimated
from hidet.target import Target

Pair: TypeAlias = tuple[int, int]

MOST_TAPS = 16
"""Taps up to which the automatic schedule writes a window out, with its sum in a register."""
APART = 1.5
"""Loads that one of a vector in two lines of the cache costs, on average."""
LONG_ROW = 32
"""Elements of a row from which that is faster than a copy, or than turning the image."""


def is_left_to_automatic(op: Conv) -> bool:
    """Whether the automatic schedule reads x where it lies, in vectors along its rows."""
    d = Depthwise(op)
    long = isinstance(d.out[1], int) and d.out[1] >= LONG_ROW
    return long and len(d.taps) <= MOST_TAPS and op.x.dtype is d.wide


@dataclass(frozen=True)
class RowVectors:
    """The tile of accumulators that a thread keeps in registers: rows by vectors along them."""

    vectors: int = choice(4, 2, 1, 7)
    rows: int = choice(3, 4, 2, 1, 6)

    def fits(self, op: Conv, target: Target) -> bool:
        """Whether accumulators, a tap for each row and a vector have registers."""
        return self.rows * (self.vectors + 1) + 1 <= target.max_registers_per_thread

    def work(self, op: Conv, target: Target) -> Work:
        """Whole tiles, a load for each multiply-add at most, and the copy."""
        t = Tiles(op, self, target)
        planes, taps = estimated(t.d.planes), len(t.d.taps)
        products = t.rows * t.vectors * taps
        # GCC reads a vector again for the second of two rows, but not for more.
        vectors = sum(len(met) if len(met) < 3 else 1 for met in t.lines.values())
        loads = APART * vectors * t.vectors * t.d.window[1] + t.rows * taps
        # Eight multiply-adds are under way at once.
        busy = min(1.0, t.rows * t.vectors / 8, products / loads)
        tiles = estimated(t.down) * estimated(t.parts) * t.lanes
        flops = tiles * (2.0 * products / busy + WRITTEN * t.rows * t.vectors)
        flops += COPIED * estimated(t.height) * t.phases * estimated(t.line)
        return Work(0, 0, planes * flops, t.d.wide.name, planes, 1)


class Tiles:
    """Sizes of tiles, and of the copy of a plane that they read."""

    def __init__(self, op: Conv, point: RowVectors, target: Target) -> None:
        self.d = d = Depthwise(op)
        (down, across), (down_by, across_by) = op.stride, op.dilation
        self.lanes = filled(d, target)
        self.vectors: int = evened(cdiv(d.out[1], self.lanes), point.vectors)
        self.rows: int = evened(d.out[0], point.rows)
        self.width = self.lanes * self.vectors
        self.down: Any = cdiv(d.out[0], self.rows)
        self.parts: Any = cdiv(d.out[1], self.width)
        self.height: Any = (self.down * self.rows - 1) * down + (d.window[0] - 1) * down_by + 1
        self.phases: int = min(across, (d.window[1] - 1) * across_by + 1)
        self.line: Any = self.parts * self.width + (d.window[1] - 1) * across_by // across
        self.lines: dict[int, list[Pair]] = {}
        """By how far a line is from a tile's first one: the rows and lines of windows that meet
        there."""
        for row, high in product(range(self.rows), range(d.window[0])):
            self.lines.setdefault(row * down + high * down_by, []).append((row, high))

    @property
    def plane(self) -> Any:
        """The shape of the copy of a plane, in a list of one."""
        return (1, self.height, self.phases, self.line)

    @property
    def is_own(self) -> bool:
        """Whether the copy of a plane stays in the nearest cache: then it is a thread's own."""
        sizes = [size for size in self.plane if isinstance(size, int)]
        return len(sizes) == len(self.plane) and prod(sizes) * self.d.wide.nbytes <= HELD


def filled(d: Depthwise, target: Target) -> int:
    """The lanes of vectors: half as many where fewer of them lie beyond the end of a row, and the
    machine multiplies two such vectors at a time."""
    lanes = max(2, target.vector_bytes // d.wide.nbytes)
    width = d.out[1]
    if target.vector_bytes > HALF and isinstance(width, int) and 0 < width % lanes <= lanes // 2:
        return lanes // 2
    return lanes


def stays_in_planes(op: Conv, target: Target) -> bool:
    """Whether that is faster for a convolution by itself than turning the image: of long rows, and
    planes that the nearest cache holds. Measured from 28 to 112 columns."""
    columns = Depthwise(op).out[1]
    long = isinstance(columns, int) and columns >= LONG_ROW
    return long and Tiles(op, RowVectors(), target).is_own


@schedule_for(
    Conv, target="cpu", space=RowVectors,
    when=lambda op, target: (
        not op.channels_last and is_depthwise(op) and op.x.dtype.is_float
        and not is_left_to_automatic(op)
    ),
)  # fmt: skip
def depthwise_rows(op: Conv, target: Target, point: RowVectors) -> Scheduled:
    """Planes over the threads, tiles of rows over vectors."""
    t = Tiles(op, point, target)
    d, planes = t.d, t.d.planes
    copies = d.wide[1 if t.is_own else planes, *t.plane[1:]]
    bias_type = operand_type(op.bias, op.x)

    with script_module():
        copy_plane, tile, write = copying(t), a_tile(t), writing(t)

        @script(x=op.x, weight=op.weight, bias=bias_type, copy=copies, y=op.infer())
        def depthwise(x: Global, weight: Global, bias: Global, copy: Global, y: Global) -> None:
            attr.func_kind = "cpu_kernel"
            attr.func_name = op.name
            for plane in parallel(planes):
                if t.is_own:
                    own = register_tensor(d.wide, t.plane)
                    copy_plane(x, own, plane, 0)
                else:
                    copy_plane(x, copy, plane, plane)
                for top in range(t.down):
                    for part in range(t.parts):
                        done = register_tensor(d.wide, (t.rows, t.width))
                        if t.is_own:
                            tile(own, weight, done, 0, plane, top, part)
                        else:
                            tile(copy, weight, done, plane, plane, top, part)
                        write(bias, done, y, plane, top, part)

    names = op.operand_labels()
    return Scheduled(assemble(op.name, [depthwise], names, ["y"], ["copy"]), point)


def copying(t: Tiles) -> ScriptFunction:
    """A part of a kernel: (x, copy, plane, held). A plane with its padding, where `held` says."""
    d, op = t.d, t.d.op
    (above, _), (before, _) = op.padding

    @script
    def copy_plane(x, copy, plane, held):  # type: ignore[no-untyped-def]
        image, channel = plane // d.channels, plane % d.channels // d.source
        for i in range(t.height):
            for phase in static(range(t.phases)):
                for j in vectorize(t.line):
                    at = (i - above, j * op.stride[1] + phase - before)
                    copy[held, i, phase, j] = cast(x.get(image, channel, *at), d.wide)

    return copy_plane


def a_tile(t: Tiles) -> ScriptFunction:
    """A part of a kernel: (copy, weight, done, held, plane, top, part). The sums of a tile."""
    d, op, lanes = t.d, t.d.op, t.lanes
    vectors = range(t.vectors)
    own = [(row, v * lanes) for row in range(t.rows) for v in vectors]

    @script
    def tile(copy, weight, done, held, plane, top, part):  # type: ignore[no-untyped-def]
        accumulators = register_tensor(d.wide, (t.rows, t.width), init=0)
        first = top * (t.rows * op.stride[0])
        for wide in range(d.window[1]):
            shift = wide * op.dilation[1]
            phase, left = shift % op.stride[1], part * t.width + shift // op.stride[1]
            for line in static(list(t.lines)):
                met = t.lines[line]
                taps = [
                    cast(get(weight, plane % d.channels, 0, high, wide), d.wide) for _, high in met
                ]
                for v in static(vectors):
                    here = load(copy, held, first + line, phase, left + v * lanes, lanes=lanes)
                    for number in static(range(len(met))):
                        at = (met[number][0], v * lanes)
                        kept = load(accumulators, *at, lanes=lanes)
                        store(accumulators, *at, kept + cast(taps[number], d.wide) * here)
        for place in static(own):
            store(done, *place, load(accumulators, *place, lanes=lanes))

    return tile


def writing(t: Tiles) -> ScriptFunction:
    """A part of a kernel: (bias, done, y, plane, top, part). Writes a tile."""
    d, op = t.d, t.d.op

    @script
    def write(bias, done, y, plane, top, part):  # type: ignore[no-untyped-def]
        image, k = plane // d.channels, plane % d.channels
        for row in range(minimum(t.rows, d.out[0] - top * t.rows)):
            for j in vectorize(minimum(t.width, d.out[1] - part * t.width)):
                total = done[row, j]
                if op.bias is not None:
                    total += cast(get(bias, k), d.wide)
                y.put(image, k, top * t.rows + row, part * t.width + j, cast(total, op.result))

    return write
