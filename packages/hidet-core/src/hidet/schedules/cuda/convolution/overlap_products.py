"""What warpgroups make of a tile's lines in shared memory (`overlap.py`).

Pixels of a line beside the window are multiplied by zero, which makes NaN of an infinity or NaN. As
all of a window's columns read the same pixels, one of them tells. Those windows are multiplied once
more in the plain way. By then the lines may be those of another tile: pixels come from x itself.
"""

from __future__ import annotations

from hidet.compute.sizes import numbers
from hidet.lang import Global, Int, Registers, Shared, address, cast, f32, part, record, static
from hidet.lang.cuda import (
    threadIdx,
    wgmma,
    wgmma_commit_group,
    wgmma_descriptor,
    wgmma_fence,
    wgmma_wait_group,
)
from hidet.lang.memory import get
from hidet.mapping.fragments import mma_c
from hidet.schedules.cuda.convolution.overlap import PAIR, Overlap
from hidet.schedules.cuda.warpgroups.groups import PIECE
from hidet.schedules.cuda.warpgroups.operand import step_of
from hidet.target import WARP, WARPGROUP

LINE_BYTES = 16
PADDING_LINES = 1
"""Lines between those of the weight of one place of the window, so that lines of places side by
side lie in different banks."""


@record
class WindowProducts:
    """The products of windows with some columns of the weight, for warpgroups."""

    p: Overlap
    columns: int
    length: int
    """Lines of a plane that a tile's windows read."""
    lines: Shared
    """By stage, plane and line."""
    taps: Shared
    """The weight, by line of a window and column."""

    def offset_bytes(self, row: int, number: int) -> int:
        """How many bytes a window's line is behind its first one."""
        plane, line = self.p.line(row, number)
        return (plane * self.length + line) * LINE_BYTES

    @part
    def multiply(self, accumulators: Registers, stage: Int, first: Int) -> None:
        """The sums of a warpgroup's windows, of those from one of the tile's on."""
        (high, wide), pitch = self.p.window, self.taps.shape[1] * LINE_BYTES
        # Where a step has several lines, those of a pair are in planes beside each other.
        beside = LINE_BYTES * (1 if self.p.lines == 1 else self.length)
        pairs = [(row, number) for row in range(high) for number in range(0, wide, PAIR)]
        start = first + threadIdx.x // WARPGROUP * PIECE
        one = wgmma_descriptor(address(self.lines, stage, 0, start, 0), beside, 8 * LINE_BYTES, 0)
        two = wgmma_descriptor(address(self.taps, 0, 0, 0), pitch, 8 * LINE_BYTES, 0)
        for v in static(range(self.columns // 2)):
            accumulators[v] = 0.0
        wgmma_fence(accumulators)
        for step, (row, number) in static(enumerate(pairs)):
            here, there = (
                one.advance(self.offset_bytes(row, number)),
                two.advance(step * PAIR * pitch),
            )
            wgmma(here, there, accumulators, f"m64n{self.columns}k{step_of(self.lines.dtype)}")
        wgmma_commit_group()
        wgmma_wait_group(0, accumulators)

    @part
    def multiply_plainly(self, x: Global, accumulators: Registers, z: Int, top: Int) -> None:
        """The sums of a warp's windows over their own pixels, from line `top` of an image on."""
        p, lane, columns, taps = self.p, threadIdx.x % WARP, self.columns, self.taps
        (high, wide), (each,) = numbers(p.op.window), numbers((p.op.each,))
        owned = [(b, half, pair) for b in range(columns // 8) for half in (0, 1) for pair in (0, 1)]
        row = top + threadIdx.x // WARP * 16 + mma_c().task(threadIdx.x % WARP, 0)[0]
        for v in static(range(columns // 2)):
            accumulators[v] = 0.0
        for down in range(high):
            for element in range(wide * each):
                across, channel = element // each, element % each
                number, pixel = p.pixel_at(across)
                line, at = down * p.window[1] + number, channel * p.pixels + pixel
                upper = cast(get(x, *p.pixel_of(z, row, down, across, channel)), f32)
                lower = cast(get(x, *p.pixel_of(z, row + 8, down, across, channel)), f32)
                for block, half, pair in static(owned):
                    tap = cast(taps[line, block * 8 + mma_c().task(lane, 0)[1] + pair, at], f32)
                    accumulators[block * 4 + half * 2 + pair] += (lower if half else upper) * tap
