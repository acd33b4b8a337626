"""Convolutions with channels last on the CPU: tiles, and where copy and weight have what.

Floats lie there in the type of the sums. Of bfloat16, where the machine multiplies it in pairs,
neighbouring channels lie side by side in groups, zero beyond the last: one instruction multiplies
and adds a group in each lane.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from hidet.cost import Work
from hidet.ir.expr import Dot, Expr, Select, wrap
from hidet.lang import cast, cdiv, load
from hidet.lang.functions import maximum, minimum
from hidet.lang.memory import get
from hidet.ops.windows.conv import Conv
from hidet.schedules.convolution import convolution_of
from hidet.schedules.cpu.panel_elements import elements_of
from hidet.schedules.cpu.panel_layout import STRETCH
from hidet.schedules.space import choice
from hidet.schedules.typical import estimated
from hidet.target import Target

COPIED = 8.0
"""Operations that an element of the copy costs; an estimate."""
FEW = 4
"""Channels up to which the copy has them in planes."""
CONFLICT = 2048
"""Bytes: pixels of a tile a multiple of them apart compete for the same sets of the cache."""
APART = 64
"""Bytes between pixels that would."""
TOGETHER = 4
"""Tiles of pixels that meet a stretch of the weight one after the other."""
LEAST = 16
"""Groups of channels at least that are summed between two window positions."""


@dataclass(frozen=True)
class PixelTile:
    """The tile of sums that a thread keeps in registers: pixels by vectors of output channels."""

    pixels: int = choice(14, 12, 6, 28, 8, 4, 2)
    vectors: int = choice(2, 4, 1, 3)

    def fits(self, op: Conv, target: Target) -> bool:
        """Whether sums, a row of the weight and a spread element have registers."""
        return self.pixels * self.vectors + self.vectors + 1 <= target.max_registers_per_thread

    def work(self, op: Conv, target: Target) -> Work:
        """Whole tiles, two loads at most for each multiply-add, and the copy."""
        p = Pixels(op, self, target)
        sums = p.high * p.wide * self.vectors
        busy = min(1.0, sums / 10) * min(1.0, 1.5 * sums / (p.high * p.wide + self.vectors))
        images = estimated(p.images, p.images)
        tiles = images * p.out[0] * p.down * p.across * p.panel_count
        met = p.window_positions_in(0, 1) * p.window_positions_in(1, p.high) * p.window[2]
        flops = 2.0 * images * met * p.across * p.panel_count
        flops *= sums * p.counted * p.depth * p.group / busy
        flops += COPIED * images * prod(p.copied) * p.channels
        return Work(0, 0, flops, p.elements.rate, tiles, 1)


class Pixels:
    """Sizes of tiles and of the copy; places have a depth, a line and a column in any case."""

    def __init__(self, op: Conv, tile: PixelTile, target: Target) -> None:
        self.op, self.elements = op, elements_of(convolution_of(op), False, target)
        self.type, self.group = self.elements.sums, self.elements.group
        self.each, self.channels = estimated(op.each), estimated(op.each) * op.groups
        self.depth: int = cdiv(self.each, self.group)
        """Groups of channels that meet; there are as many times `op.groups` in a pixel."""
        self.pixel_groups = self.depth * op.groups
        self.outputs = estimated(op.weight.shape[0]) // op.groups
        most = max(2, target.vector_bytes // self.type.nbytes)
        self.lanes = max(2, min(most, 1 << (self.outputs - 1).bit_length()))
        """Those that few output channels fill: machines multiply short vectors two at a time."""
        if self.group > 1:
            self.lanes = most
        self.counted = max(self.lanes, most // 2)
        self.vectors, self.width = range(tile.vectors), self.lanes * tile.vectors
        self.panels_each = cdiv(self.outputs, self.width)
        self.panel_count = op.groups * self.panels_each
        line = (1,) * (3 - len(op.stride))
        self.images = op.x.shape[0]
        self.out = tuple(map(estimated, (*line, *op.spatial())))
        self.window = tuple(map(estimated, (*line, *op.window)))
        single = tuple(size == 1 for size in self.window)
        stride, self.dilation = (*line, *op.stride), (*line, *op.dilation)
        # Of windows of one place the copy has what they read alone.
        self.taken = tuple(step if one else 1 for step, one in zip(stride, single, strict=True))
        self.stride = tuple(1 if one else step for step, one in zip(stride, single, strict=True))
        self.before, self.after = zip(*((0, 0),) * len(line), *op.padding, strict=True)
        self.sizes = tuple(map(estimated, (*line, *op.x.shape[1:-1])))
        """Depth, lines and columns of x."""
        self.taps = prod(self.window)
        # Tiles of almost one width: a row is cut evenly, and short rows are taken together.
        depth, lines, columns = self.out
        self.wide = cdiv(columns, cdiv(columns, tile.pixels))
        self.high = max(1, min(tile.pixels // self.wide, lines))
        self.down, self.across = cdiv(lines, self.high), cdiv(columns, self.wide)
        self.runs = cdiv(self.down * self.across, TOGETHER)
        counts = (depth, self.down * self.high, self.across * self.wide)
        self.copied = tuple(
            (count - 1) * step + (window - 1) * apart + 1
            for count, step, window, apart in zip(
                counts, self.stride, self.window, self.dilation, strict=True
            )
        )
        """Depth, lines and columns of the copy."""
        self.in_planes = self.channels <= FEW
        self.pixel = self.pixel_groups * self.group
        if self.pixel * self.stride[2] * self.elements.rows.nbytes % CONFLICT == 0:
            self.pixel += APART // self.elements.rows.nbytes
        parts = min(cdiv(self.depth * self.taps, STRETCH), cdiv(self.depth, LEAST))
        self.part: int = cdiv(self.depth, parts)
        """Groups of a stretch: long sums of rounded products lose digits, short ones fewer."""
        self.weights_stay = self.outputs * self.taps <= prod(self.copied)
        """Whether all weights meet a tile of pixels before the next one, or all pixels those of a
        tile of channels: what is smaller stays in the cache."""

    @property
    def is_one_stretch(self) -> bool:
        """Whether all products of a sum are added up at once, so that tiles need not begin at 0."""
        return bool(self.part == self.depth)

    @property
    def copy_type(self) -> Any:
        """The type of the copy."""
        rows, (*outer, columns) = self.elements.rows, self.copied
        if self.in_planes:
            return rows[self.images, self.pixel_groups, *outer, columns * self.group]
        return rows[self.images, *self.copied, self.pixel]

    @property
    def panel_type(self) -> Any:
        """The type of the packed weight."""
        tile = (self.taps * self.depth, self.width * self.group)
        return self.elements.lanes[self.panel_count, *tile]

    def pixel_at(self, image: Any, place: tuple[Any, ...], group: Any) -> tuple[Any, ...]:
        """Where a group of channels begins in the copy."""
        if not self.in_planes:
            return (image, *place, group * self.group)
        *outer, column = place
        return (image, group, *outer, column * self.group)

    def pixel_group(self, copy: Any, image: Any, place: tuple[Any, ...], group: Any) -> Expr:
        """A group of channels of a pixel."""
        at = self.pixel_at(image, place, group)
        return load(copy, *at, **({} if self.group == 1 else {"lanes": self.group}))

    def weight_groups(self, panels: Any, panel: Any, row: Any, v: int) -> Expr:
        """A group of the output channels in vector v of a panel."""
        of_vector = self.lanes * self.group
        return load(panels, panel, row, v * of_vector, lanes=of_vector)

    def added(self, total: Expr, each: Expr, row: Expr) -> Expr:
        """Sums with the products of a group of a pixel and of the output channels of a vector."""
        return total + each * row if self.group == 1 else Dot(total, each, row)

    def copied_element(
        self, x: Any, image: Any, place: tuple[Any, ...], number: Any, each: int
    ) -> Any:
        """Number `each` of a group of channels, as the copy has it: 0 beyond the last."""
        within = number % self.depth * self.group + each
        channel = number // self.depth * self.each + within
        found = cast(get(x, image, *self.read(place), channel), self.elements.rows)
        if self.each % self.group == 0:
            return found
        return Select(wrap(within) < self.each, found, cast(0.0, self.elements.rows))

    def row(self, start: Any, tap: Any, iteration: Any) -> Any:
        """Where a panel has group `start + iteration` of a window position: in the order of
        reading, stretch by stretch."""
        count = minimum(self.part, self.depth - start)
        return start * self.taps + tap * count + iteration

    def ahead(self, start: Any, tap: Any, iteration: Any, tile: Any) -> tuple[Any, Any]:
        """What a tile asks the cache for while it adds the row of the same numbers: a part of the
        next stretch. Tiles that meet a stretch ask for equal parts of it, so that weights come from
        memory as evenly as they are used; past the last row it is the next panel."""
        count = minimum(self.part, self.depth - start)
        rows = tile * count * self.taps + tap * count + iteration
        tiles = min(TOGETHER, self.down * self.across)
        return (start + count) * self.taps, rows * (self.width * self.group // tiles)

    def corner(self, depth: Any, tile: Any) -> tuple[Any, Any, Any]:
        """The first pixel of a tile of a depth of the result."""
        return depth, tile // self.across * self.high, tile % self.across * self.wide

    def position(self, tap: Any) -> tuple[Any, Any, Any]:
        """A window position by its number."""
        _, high, wide = self.window
        return tap // (high * wide), tap // wide % high, tap % wide

    def window_positions(self, axis: int, first: Any, count: int) -> tuple[Any, Any]:
        """The first window position along an axis at which one of `count` neighbours of the result
        reads x, and the end of these positions: at all others the copy is zero."""
        step, apart = self.stride[axis] * self.taken[axis], self.dilation[axis]
        before, size, end = self.before[axis], self.sizes[axis], self.window[axis]
        begin = 0
        if before:
            begin = cdiv(maximum(0, before - (first + (count - 1)) * step), apart)
        if self.after[axis]:
            end = minimum(end, cdiv(maximum(0, size + before - first * step), apart))
        return begin, end

    def window_positions_in(self, axis: int, count: int) -> int:
        """How many those are of all tiles along an axis, with `count` neighbours each."""
        step, apart = self.stride[axis] * self.taken[axis], self.dilation[axis]
        found: int = self.window[axis] * cdiv(self.out[axis], count)
        if self.in_planes:
            return found
        found = 0
        for position in range(self.window[axis]):
            shift = self.before[axis] - position * apart
            first = cdiv(max(0, shift), step)
            last = min(self.out[axis] - 1, (self.sizes[axis] + shift - 1) // step)
            found += max(0, last // count - first // count + 1) if first <= last else 0
        return found

    def place(self, depth: Any, line: Any, column: Any) -> tuple[Any, ...]:
        """A place as x, the weight and the result have it."""
        return (depth, line, column)[3 - len(self.op.stride) :]

    def read(self, place: tuple[Any, ...]) -> tuple[Any, ...]:
        """The place of x that one of the copy is of."""
        found = (
            at * step - before
            for at, step, before in zip(place, self.taken, self.before, strict=True)
        )
        return self.place(*found)

    def tap(self, place: tuple[Any, ...], window: tuple[Any, ...]) -> tuple[Any, ...]:
        """The place of the copy that a window position of a place of the result reads."""
        return tuple(
            at * step + by * apart
            for at, step, by, apart in zip(place, self.stride, window, self.dilation, strict=True)
        )
