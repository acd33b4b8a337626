"""Neighbours in memory as accesses of as many of them as are aligned; rows that windows read."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd


def accesses(start: int, stop: int, lanes: int) -> list[tuple[int, int]]:
    """Elements from `start` to `stop` as runs, by first element and length.

    Each run is a power of two of elements, `lanes` at most, and begins at a multiple of that many:
    where whole runs of `lanes` are in a tensor or not, all of a run is or nothing of it.
    """
    found = []
    while start < stop:
        width = gcd(start, lanes)
        while start + width > stop:
            width //= 2
        found.append((start, width))
        start += width
    return found


@dataclass(frozen=True)
class WindowRow:
    """What windows of neighbouring outputs read of one row.

    For output `v` and place `w` of its window that is element `first + v * stride + w * dilation`.
    """

    first: int
    stride: int
    dilation: int
    window: int

    def reach(self, count: int) -> int:
        """Elements from the first to the last one that the windows of `count` outputs read."""
        return (count - 1) * self.stride + (self.window - 1) * self.dilation + 1

    def accesses(self, count: int, widest: int) -> list[tuple[int, int]]:
        """The accesses of a thread with `count` outputs, of at most `widest` elements each."""
        stop = self.first + self.reach(count)
        return accesses(self.first, stop, gcd(widest, count * self.stride))
