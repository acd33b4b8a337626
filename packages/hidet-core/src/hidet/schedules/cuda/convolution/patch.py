"""Patches of a plane that a depthwise convolution computes in one thread: what they read of x."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hidet.cost import Work
from hidet.schedules.accesses import WindowRow
from hidet.schedules.depthwise import Depthwise
from hidet.target import Target

MUCH_LESS = 0.85
"""The part of what is read that is worth as many rows again."""


@dataclass(frozen=True)
class Patch:
    """What a thread reads for its sums: `rows` rows of `each` neighbours."""

    d: Depthwise
    each: int
    rows: int

    @property
    def row(self) -> WindowRow:
        """What windows side by side read of a row of x."""
        op = self.d.op
        return WindowRow(-op.padding[1][0], op.stride[1], op.dilation[1], self.d.window[1])

    @property
    def reach(self) -> int:
        """Elements of a row of x from the first to the last one that is read."""
        return self.row.reach(self.each)

    @property
    def needed(self) -> list[int]:
        """Rows of x that are read, counted from the first one."""
        down, down_by = self.d.op.stride[0], self.d.op.dilation[0]
        return sorted(
            {
                i * down + high * down_by
                for i in range(self.rows)
                for high in range(self.d.window[0])
            }
        )

    def uses(self, row: int) -> Iterator[tuple[int, int]]:
        """The rows of the patch that a row of x adds to, each with the window's row for it."""
        down, down_by = self.d.op.stride[0], self.d.op.dilation[0]
        for i in range(self.rows):
            high, rest = divmod(row - i * down, down_by)
            if rest == 0 and 0 <= high < self.d.window[0]:
                yield i, high

    @property
    def shares(self) -> bool:
        """Whether half as many rows would read much more of x: longer threads must gain."""
        half = Patch(self.d, self.each, self.rows // 2)
        return self.rows == 1 or len(self.needed) <= MUCH_LESS * 2 * len(half.needed)

    @property
    def live(self) -> int:
        """Weights that are kept at once, for the rows of x that follow."""
        longest = (self.rows - 1) * self.d.op.stride[0] // self.d.op.dilation[0] + 1
        return min(longest, self.d.window[0]) * self.d.window[1]


@dataclass(frozen=True)
class Steps:
    """What a thread's steps take: sums, and what else counts as much. Measured."""

    alone: int
    """So many, one after the other, take a thread that is alone as long as a wait for memory."""
    beside: int
    """So many threads of a multiprocessor take as long for their steps as one takes alone."""

    def work(
        self, d: Depthwise, steps: float, blocks: int, threads: int, registers: int, waits: int,
        target: Target,
    ) -> Work:  # fmt: skip
        """`blocks` of threads that each take so many steps, and wait for memory so often."""
        resident = target.resident_blocks(threads, 0, registers)
        resident_threads = min(blocks / target.cores, resident) * threads
        latencies = waits + steps / self.alone * (1 + resident_threads / self.beside)
        flops = 2.0 * blocks * threads * steps
        return Work(
            *d.nbytes, flops, "float32", blocks, threads, registers=registers, latencies=latencies
        )
