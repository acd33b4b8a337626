"""Convolutions read in rows on the CPU: tiles, slabs, and where the copy and the weight have what.

In the copy a row of the result and the next one are as far apart as rows of x, so that positions of
several rows are neighbours, but for a few between two rows that are not written. Rows of x share
the zeros between them. A slab is some
whole rows, or a part of a long one: its positions fill vectors but for the last tile of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

from hidet.compute import accumulator
from hidet.cost import Work
from hidet.ir.expr import Expr
from hidet.lang import cdiv, load
from hidet.ops.windows.conv import Conv
from hidet.schedules.cpu.panel_layout import STRETCH, evened
from hidet.schedules.space import choice
from hidet.schedules.typical import estimated
from hidet.target import Target

COPIED = 8.0
"""Operations that an element of the copy costs; an estimate."""
WRITTEN = 4.0
"""The same of an element that is stored aside first; an estimate."""
BEGUN = 0.25
"""Tiles that it takes to begin a slab; an estimate."""
HELD = 1 << 15
"""Bytes of sums of a slab: what the nearest cache holds."""


Pair: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Tile:
    """The tile of sums that a thread keeps in registers: channels by vectors of positions."""

    rows: int = choice(8, 14, 12, 6, 4, 2)
    vectors: int = choice(2, 3, 1, 4)

    def fits(self, op: Conv, target: Target) -> bool:
        """Whether sums, a row of vectors and a spread element have registers."""
        height: int = evened(op.weight.shape[0] // op.groups, self.rows)
        return height * self.vectors + self.vectors + 1 <= target.max_registers_per_thread

    def work(self, op: Conv, target: Target) -> Work:
        """What `op` costs at this point."""
        return self.work_of(Rows(op, self, target))

    def work_of(self, r: Rows) -> Work:
        """Whole tiles, two loads at most for each multiply-add, and the copy."""
        sums = r.height * self.vectors
        busy = min(1.0, sums / 10) * min(1.0, 1.5 * sums / (r.height + self.vectors))
        blocks = estimated(r.stacks, r.images) * r.row_tiles
        flops = 2.0 * blocks * r.tiles * r.height * r.width * estimated(r.each) * r.taps / busy
        flops += WRITTEN * blocks * r.height * r.out[0] * r.out[1]
        if r.is_copied:
            flops += COPIED * estimated(r.planes, r.images) * r.phases * r.lines * r.line
        return Work(0, 0, flops, r.wide.name, blocks * r.slabs, 1)


class Rows:
    """Sizes of slabs and of the copy, and where a window's positions are in it; they have a line
    and a column in any case."""

    is_copied = True
    """Whether vectors are read from a copy; else from x itself."""

    def __init__(self, op: Conv, tile: Tile, target: Target) -> None:
        self.op, self.wide = op, accumulator(op.x.dtype)
        self.lanes = max(2, target.vector_bytes // self.wide.nbytes)
        self.each, self.channels = op.each, estimated(op.weight.shape[0]) // op.groups
        self.height, self.vectors = evened(self.channels, tile.rows), range(tile.vectors)
        self.width = self.lanes * tile.vectors
        self.row_tiles: int = cdiv(self.channels, self.height)
        self.images, self.planes = op.x.shape[0], op.x.shape[0] * op.x.shape[1]
        self.stacks = self.images * op.groups
        self.out: Pair = (1, 1)
        self.window, self.stride, self.dilation, self.before = (1, 1), (1, 1), (1, 1), (0, 0)
        self.measure()
        self.taps = prod(self.window)
        self.step = max(1, STRETCH // self.taps)
        """Channels of a stretch: long sums of rounded products lose digits, short ones fewer."""
        self.panel_type = self.wide[op.groups * self.row_tiles, self.each * self.taps, self.height]
        far = [(size - 1) * by for size, by in zip(self.window, self.dilation, strict=True)]
        self.down_by, self.across_by = far[0] // self.stride[0], far[1] // self.stride[1]
        """How far the last window position is from the first one, in positions of the copy."""
        self.phases_down, self.phases_across = (
            min(step, reach + 1) for step, reach in zip(self.stride, far, strict=True)
        )
        self.phases = self.phases_down * self.phases_across
        self.line: int = self.out[1] + self.across_by - self.shared_zeros()
        """Positions from a row of the result to the next."""
        self.cut(target)
        self.lines: int = cdiv(self.end(), self.line)
        self.copy_type = self.wide[self.planes, self.phases, self.lines * self.line]
        self.weights_stay = self.channels * self.taps <= self.phases * self.lines * self.line
        """Whether all weights meet a slab before the next one, or all slabs a tile of channels:
        what is smaller stays in the cache."""

    def measure(self) -> None:
        """Take the lines and columns of the result, of windows and of steps from the operator."""
        op, line = self.op, (1,) * (2 - len(self.op.stride))
        self.out, self.window, self.stride, self.dilation = (
            pair(*line, *map(estimated, each))
            for each in (op.spatial(), op.window, op.stride, op.dilation)
        )
        self.before = pair(*(0 for _ in line), *(before for before, _ in op.padding))

    def shared_zeros(self) -> int:
        """How many zeros behind a row of x are those ahead of the next one, too."""
        before, after = self.op.padding[-1]
        return min(before, after, self.across_by) if self.stride[1] == 1 else 0

    def cut(self, target: Target) -> None:
        """Cut the result into slabs, `down` by `across`, of `high` rows and `broad` columns."""
        tasks = estimated(self.stacks, self.images) * self.row_tiles
        most = max(1, HELD // (self.height * self.width * self.wide.nbytes))
        self.high, self.broad = self.slab(cdiv(target.cores, tasks), most)
        if self.high == 1:  # no tile goes on in the next row: there is room for the last one
            end = cdiv(self.out[1], self.broad) * cdiv(self.broad, self.width) * self.width
            self.line = end + self.across_by
        self.down, self.across = cdiv(self.out[0], self.high), cdiv(self.out[1], self.broad)
        self.slabs = self.down * self.across
        self.tiles = self.across * self.tiles_in(self.high)

    def end(self) -> int:
        """Where what tiles read of a phase ends."""
        rows = self.out[0] - (self.down - 1) * self.high
        first = self.begin((self.down - 1) * self.high, (self.across - 1) * self.broad)
        read = self.tiles_of(rows) * self.width + self.down_by * self.line + self.across_by
        return int(first + read)

    def slab(self, least: int, most: int) -> Pair:
        """The rows and columns of a slab of so many tiles at most: the fewest tiles in all, and
        so many slabs at least if there are rows enough, or tiles of the only one."""
        lines, columns = self.out
        self.broad, whole = columns, cdiv(columns, self.width)
        at_once = min(most, cdiv(whole, least)) if lines == 1 else most
        if whole > at_once:
            return 1, fewest(columns, at_once, self.width) * self.width
        heights = [h for h in range(1, max(1, lines // least) + 1) if self.tiles_of(h) <= most]
        return min(heights, key=lambda h: self.tiles_in(h) + BEGUN * cdiv(lines, h)), columns

    def tiles_of(self, rows: Any) -> Any:
        """The tiles of a slab of so many rows."""
        return cdiv((rows - 1) * self.line + self.broad, self.width)

    def tiles_in(self, high: int) -> int:
        """The tiles of all slabs of so many rows each."""
        whole, rest = divmod(self.out[0], high)
        return int(whole * self.tiles_of(high) + (self.tiles_of(rest) if rest else 0))

    @property
    def is_one_stretch(self) -> bool:
        """Whether all products of a sum are added up at once, so that tiles need not begin at 0."""
        return isinstance(self.each, int) and self.each <= self.step

    def begin(self, top: Any, left: Any) -> Any:
        """The first position that a slab computes, whose own ones begin at a line and a column."""
        return top * self.line + left

    def position(self, line: Any, column: Any) -> tuple[Any, ...]:
        """A position as x and the result have it."""
        return (line, column)[2 - len(self.op.stride) :]

    def window_position(self, tap: Any) -> tuple[Any, ...]:
        """Number `tap` of a window as the weight has it."""
        return (tap // self.window[1], tap % self.window[1])[2 - len(self.op.stride) :]

    def vector(self, source: Any, plane: Any, phase: Any, position: Any) -> Expr:
        """Neighbours in a phase of a plane."""
        return load(source, plane, phase, position, lanes=self.lanes)

    def tap(self, i: Any, j: Any) -> tuple[Any, Any]:
        """The phase that a window position reads, and how far its positions are shifted there."""
        down, across = i * self.dilation[0], j * self.dilation[1]
        phase = down % self.stride[0] * self.phases_across + across % self.stride[1]
        return phase, down // self.stride[0] * self.line + across // self.stride[1]


def pair(line: int, column: int) -> Pair:
    """What is known of lines and of columns."""
    return line, column


def fewest(columns: int, most: int, width: int) -> int:
    """The tiles of a slab of a line, `most` at most, for which a line takes the least."""
    counts = range(1, max(1, most) + 1)
    return min(counts, key=lambda tiles: cdiv(columns, tiles * width) * (tiles + BEGUN))
