"""Windows of few channels that lie in shared memory over each other, as warpgroups read them.

A line is 16 bytes: the channels, one after the other, of as many neighbouring pixels of a row of x
as a window steps over, or of a part of these; what is left is zero. Windows side by side begin a
line apart, and so do the rows of an operand of wgmma within eight: every line is there once, and
all windows that it is part of find it there.

    step 2, window 7, 3 channels:   lines of x:   q0  q1  q2  q3  q4 ...    (2 pixels, 3 channels)
                                    window 0:     q0  q1  q2  q3
                                    window 1:         q1  q2  q3  q4

Rows of x between those that windows step to lie in planes of their own, and so do the lines of a
step but the first. Pixels of a line beside a window are multiplied by zero; where one is no number,
see `overlap_products.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from hidet.compute.sizes import numbers
from hidet.ir.expr import Value
from hidet.ops.windows.conv import Conv
from hidet.schedules.contraction import Index
from hidet.schedules.convolution import ChannelsLast
from hidet.types import Size

LINE = 8
"""Elements of 16 bits in a line."""
PAIR = 2
"""Lines along k that one instruction multiplies."""


@dataclass(frozen=True)
class Overlap(ChannelsLast):
    """Rows are lines of an image's plane, of which those are dropped where no window begins."""

    @property
    def image_channels(self) -> int:
        """Channels of a pixel."""
        return numbers((self.op.each,))[0]

    @property
    def pixels(self) -> int:
        """Pixels of a line: as many of a step as there is room for."""
        return pixels_of(self.op)

    @property
    def lines(self) -> int:
        """Lines of a step."""
        return self.op.stride[-1] // self.pixels

    @property
    def shift(self) -> int:
        """Pixels of a window's first line ahead of the window: lines begin where as many pixels of
        x do, so that these are read together."""
        return -self.op.padding[-1][0] % self.pixels

    @cached_property
    def window(self) -> tuple[int, int]:
        """Rows of a window, and the lines that each needs, in pairs; pixels beside it are
        multiplied by zero."""
        high, wide = numbers(self.op.window)
        multiple = max(PAIR, self.lines)
        return high, -(-(wide + self.shift) // (self.pixels * multiple)) * multiple

    @cached_property
    def planes(self) -> int:
        """Planes of lines: those apart by the windows' steps are in one."""
        return self.op.stride[0] * self.lines

    @cached_property
    def across(self) -> int:
        """Lines of a row in one plane."""
        return numbers(self.places[1:])[1] + self.window[1] // self.lines - 1

    @property
    def batch(self) -> Size:  # type: ignore[override]
        """The images."""
        return self.op.x.shape[0]

    @cached_property
    def m(self) -> int:  # type: ignore[override]
        """Lines from the first one of an image at which a window begins to the last one."""
        high, wide = numbers(self.places[1:])
        return (high - 1) * self.across + wide

    @cached_property
    def k(self) -> int:  # type: ignore[override]
        """Elements of a window, with those that are multiplied by zero."""
        return self.window[0] * self.window[1] * LINE

    @property
    def last_line(self) -> int:
        """Lines from the first one of a window to its last one, in one plane."""
        high, wide = self.window
        return (high - 1) // self.op.stride[0] * self.across + wide // self.lines - 1

    def line(self, row: int, number: int) -> tuple[int, int]:
        """The plane of a window's line and how far it is from the window's first line there."""
        down, plane = divmod(row, self.op.stride[0])
        across, part = divmod(number, self.lines)
        return plane * self.lines + part, down * self.across + across

    def pixel_at(self, column: Value) -> tuple[Value, Value]:
        """Which of a row's lines has a column of the window, and which of its pixels that is."""
        place = column + self.shift
        return place // self.pixels, place % self.pixels

    def pixel_of(self, z: Value, i: Value, row: Value, column: Value, channel: Value) -> Index:
        """The index in x of an element of the window that begins at line `i` of an image."""
        (above, _), (before, _) = self.op.padding
        step = self.op.stride
        down, across = i // self.across * step[0], i % self.across * step[1]
        return (z, down + row - above, across + column - before, channel)

    def x_at(
        self, z: Value, top: Value, number: Value, length: int, pixel: Value, channel: int
    ) -> Index:
        """The index in x of an element of line `number` of a tile with `length` lines of each
        plane, which begins at line `top` of the image."""
        (above, _), (before, _) = self.op.padding
        plane, line = number // length, top + number % length
        row = line // self.across * self.op.stride[0] + plane // self.lines - above
        number = line % self.across * self.lines + plane % self.lines
        column = number * self.pixels - before - self.shift
        return (z, row, column + pixel, channel)

    def tap_at(self, j: Value, line: Value, pixel: Value, channel: int) -> Index:
        """The index in the weight of what an element of a window's line is multiplied by."""
        _, wide = self.window
        return (j, line // wide, line % wide * self.pixels + pixel - self.shift, channel)

    def c_at(self, z: Value, i: Value, j: Value) -> Index:
        return (z, i // self.across, i % self.across, j)

    def bias_at(self, z: Value, i: Value, j: Value) -> Index:
        return (j,)


@lru_cache(maxsize=1024)
def overlap_of(op: Conv) -> Overlap:
    """The form of a convolution for which `overlaps` holds."""
    return Overlap(op)


def overlaps(op: Conv) -> bool:
    """Whether lines of few channels can be made of what the windows of a plane read."""
    sizes = (*op.sizes, *op.window, op.each, op.weight.shape[0])
    if op.x.ndim != 4 or not all(isinstance(size, int) for size in sizes):
        return False
    plain = op.channels_last and op.groups == 1 and set(op.dilation) == {1}
    return plain and LINE % op.stride[-1] == 0 and 0 < numbers((op.each,))[0] <= LINE


def pixels_of(op: Conv) -> int:
    """Pixels of a line, which divide the windows' step."""
    pixels = op.stride[-1]
    while pixels * numbers((op.each,))[0] > LINE:
        pixels //= 2
    return pixels
