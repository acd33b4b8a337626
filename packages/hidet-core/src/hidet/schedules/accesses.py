"""Neighbours in memory as accesses of as many of them as are aligned."""

from __future__ import annotations

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
