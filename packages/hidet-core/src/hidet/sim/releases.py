"""What blocks know of each other: a fence and an atomic here, an atomic on the same element there.

A block that updates an element atomically learns what those who updated it before had made visible
by a fence. What one thread learns counts for its whole block at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hidet.sim.values import Array


@dataclass
class Visible:
    """Of one block: the time up to which each warp's accesses, and single threads', are visible."""

    warps: Array
    threads: dict[int, int] = field(default_factory=dict)

    def join(self, other: Visible) -> None:
        """All that either makes visible."""
        self.warps = np.maximum(self.warps, other.warps)
        for thread, time in other.threads.items():
            self.threads[thread] = max(self.threads.get(thread, 0), time)


Blocks = dict[int, Visible]


class Releases:
    """Fences so far, what hangs on each element, and what each block has learnt."""

    def __init__(self, blocks: int, threads: int) -> None:
        self.threads = threads
        self.fence_of_block = np.zeros(blocks, np.int64)
        self.fence_of_thread = np.zeros(blocks * threads, np.int64)
        self.offered: dict[tuple[int, int], Blocks] = {}
        self.known: dict[int, Blocks] = {}

    def fence(self, numbers: Array, time: int) -> None:
        """These threads made all they know of visible."""
        self.fence_of_thread[numbers] = time
        self.fence_of_block[numbers // self.threads] = time

    def update(self, element: tuple[int, int], number: int, seen: Array) -> None:
        """A thread, which has `seen` the warps of its block, updates an element atomically."""
        block = number // self.threads
        known, offered = self.known.setdefault(block, {}), self.offered.setdefault(element, {})
        merge(known, offered, block)
        if not self.fence_of_block[block]:
            return
        merge(offered, known, None)
        own = {number: int(self.fence_of_thread[number])}
        mine = Visible(np.minimum(seen, self.fence_of_block[block]), own)
        merge(offered, {block: mine}, None)

    def visible(self, mine: Array, other: Array, warp: Array, stamp: Array) -> Array:
        """Whether accesses of threads `other` at `stamp` are visible to the blocks `mine`."""
        found = np.zeros(len(other), np.bool_)
        block = other // self.threads
        pairs = np.unique(np.stack([mine, block]), axis=1)
        for me, they in pairs.T:
            times = self.known.get(int(me), {}).get(int(they))
            if times is None:
                continue
            rows = np.flatnonzero((mine == me) & (block == they))
            found[rows] = stamp[rows] < times.warps[warp[rows]]
            for thread, time in times.threads.items():
                found[rows] |= (other[rows] == thread) & (stamp[rows] < time)
        return found


def merge(into: Blocks, source: Blocks, but: int | None) -> None:
    """Join what `source` makes visible, except of block `but`."""
    for block, times in source.items():
        if block == but:
            continue
        if block not in into:
            into[block] = Visible(times.warps.copy(), dict(times.threads))
        else:
            into[block].join(times)
