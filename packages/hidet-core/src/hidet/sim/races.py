"""Who touched what, and what ordered it: happens-before, compressed per warp.

Time is one counter that moves on at every synchronisation. `Clocks.seen[block, me, other]` is the
time before which everything that warp `other` did is ordered before what warp `me` does now. A
shadow remembers for each granule of memory the last writer and the readers since.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hidet.sim.releases import Releases
from hidet.sim.values import Array

NOBODY = -1
SEVERAL = -2


@dataclass(frozen=True)
class Team:
    """How the numbers of threads are made: block · `threads` + thread in block."""

    threads: int
    warp: int
    first: int
    """The first block that is resident now."""


@dataclass
class Who:
    """The threads of an access, one entry for each granule touched."""

    thread: Array
    slot: Array
    warp: Array
    site: int
    """The statement, as a number."""


@dataclass(frozen=True)
class Conflict:
    """An access that nothing orders with an earlier one."""

    entry: int
    other: int
    """The other thread; `SEVERAL` if there are more than one."""
    site: int
    verb: str


class Clocks:
    """What each warp of the resident blocks has seen of the others in its block."""

    def __init__(self, blocks: int, warps: int, team: Team, releases: Releases) -> None:
        self.now = 1
        self.team = team
        self.releases = releases
        self.seen = np.zeros((blocks, warps, warps), np.int64)

    def tick(self) -> int:
        """Move time on; what happened before has a smaller stamp."""
        self.now += 1
        return self.now

    def blocks_met(self, slots: Array) -> None:
        """A block-wide barrier in the blocks `slots`."""
        self.seen[slots] = self.tick()

    def warps_met(self, slots: Array, warps: Array) -> None:
        """A barrier within each of the given warps."""
        self.seen[slots, warps, warps] = self.tick()

    def joined(self, slot: int, arrived: Array, waiting: Array, since: Array) -> None:
        """Warps `waiting` saw `arrived`, each up to the time in `since`, and what they had seen."""
        rows = self.seen[slot]
        known = rows[arrived].max(axis=0)
        rows[waiting] = np.maximum(rows[waiting], known)
        for warp, time in zip(arrived, since, strict=True):
            rows[waiting, warp] = np.maximum(rows[waiting, warp], time)

    def ordered(self, other: Array, stamp: Array, who: Who) -> Array:
        """Whether the access of thread `other` at time `stamp` is ordered before `who`'s now."""
        team = self.team
        block = other // team.threads
        mine = block == who.slot + team.first
        warp = np.where(mine, (other % team.threads) // team.warp, 0)
        seen = self.seen[who.slot, who.warp, warp]
        found: Array = (other == NOBODY) | (other == who.thread) | (mine & (stamp < seen))
        if self.releases.known and not found.all():
            rest = np.flatnonzero(~found & ~mine)
            far, me = other[rest], who.slot[rest] + team.first
            warps = far % team.threads // team.warp
            found[rest] = self.releases.visible(me, far, warps, stamp[rest])
        return found


class Shadow:
    """The last writer and the readers of each granule of a buffer."""

    def __init__(self, granules: int, clocks: Clocks, readers: Readers) -> None:
        self.clocks = clocks
        self.touched = False
        self.writer = np.full(granules, NOBODY, np.int32)
        self.stamp = np.zeros(granules, np.int32)
        self.site = np.zeros(granules, np.int32)
        self.atomic = np.zeros(granules, np.bool_)
        self.flying = np.zeros(0, np.bool_)
        self.readers = readers

    def read(self, granules: Array, who: Who) -> Conflict | None:
        """Note a read; the first write that it races with."""
        conflict = self.after_write(granules, who, "wrote") if self.touched else None
        self.readers.note(granules, who, self.clocks)
        return conflict

    def write(self, granules: Array, who: Who, atomic: bool = False) -> Conflict | None:
        """Note a write (or an atomic update); the first access that it races with."""
        conflict = self.after_write(granules, who, "wrote", atomic) if self.touched else None
        conflict = conflict or self.readers.conflict(granules, who, self.clocks)
        self.touched = True
        self.writer[granules] = who.thread
        self.stamp[granules] = self.clocks.now
        self.site[granules] = who.site
        self.atomic[granules] = atomic
        return conflict

    def after_write(
        self, granules: Array, who: Who, verb: str, atomic: bool = False
    ) -> Conflict | None:
        """The first earlier write that is not ordered before this access."""
        other = self.writer[granules]
        bad = ~self.clocks.ordered(other, self.stamp[granules], who)
        if atomic:
            bad &= ~self.atomic[granules]
        if not bad.any():
            return None
        entry = int(np.argmax(bad))
        return Conflict(entry, int(other[entry]), int(self.site[granules[entry]]), verb)

    def disagree(self, granules: Array, who: Who) -> Array:
        """Where, in the write just noted, another thread wrote the same granule."""
        found: Array = self.writer[granules] != who.thread
        return found

    def launch(self, granules: Array) -> None:
        """Asynchronous copies into these granules are under way."""
        if not self.flying.size:
            self.flying = np.zeros(self.writer.size, np.bool_)
        self.flying[granules] = True

    def land(self, granules: Array) -> None:
        """The copies into these granules are complete."""
        self.flying[granules] = False

    def in_flight(self, granules: Array) -> int | None:
        """The first of the accesses that touches an unfinished copy."""
        if not self.flying.size:
            return None
        hit = self.flying[granules]
        return int(np.argmax(hit)) if hit.any() else None


class Readers:
    """Remembers who read each granule since it was last written."""

    def note(self, granules: Array, who: Who, clocks: Clocks) -> None:
        """Remember a read."""
        raise NotImplementedError

    def conflict(self, granules: Array, who: Who, clocks: Clocks) -> Conflict | None:
        """The first read that is not ordered before a write by `who` now."""
        raise NotImplementedError


class WarpReaders(Readers):
    """For shared memory: when each warp of the block last read, and by which thread."""

    def __init__(self, granules: int, warps: int) -> None:
        self.stamp = np.zeros((granules, warps), np.int32)
        self.thread = np.full((granules, warps), NOBODY, np.int32)
        self.site = np.zeros(granules, np.int32)

    def note(self, granules: Array, who: Who, clocks: Clocks) -> None:
        """Remember a read: one thread of each warp, or that there were several."""
        old = self.thread[granules, who.warp]
        seen = clocks.seen[who.slot, who.warp, who.warp]
        stale = (self.stamp[granules, who.warp] < seen) | (old == NOBODY) | (old == who.thread)
        self.thread[granules, who.warp] = who.thread
        alone = stale & (self.thread[granules, who.warp] == who.thread)
        self.thread[granules[~alone], who.warp[~alone]] = SEVERAL
        self.stamp[granules, who.warp] = clocks.now
        self.site[granules] = who.site

    def conflict(self, granules: Array, who: Who, clocks: Clocks) -> Conflict | None:
        """The first read that is not ordered before a write by `who` now."""
        thread = self.thread[granules]
        unordered = self.stamp[granules] >= np.maximum(clocks.seen[who.slot, who.warp], 1)
        bad = unordered & (thread != NOBODY) & (thread != who.thread[:, None])
        if not bad.any():
            return None
        entry, warp = (int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))
        return Conflict(entry, int(thread[entry, warp]), int(self.site[granules[entry]]), "read")


class LastReader(Readers):
    """For global memory: the last reader, and whether its warp, block or others read as well."""

    def __init__(self, granules: int) -> None:
        self.thread = np.full(granules, NOBODY, np.int32)
        self.stamp = np.zeros(granules, np.int32)
        self.spread = np.zeros(granules, np.int8)  # 0 one thread, 1 a warp, 2 a block, 3 blocks
        self.site = np.zeros(granules, np.int32)

    def note(self, granules: Array, who: Who, clocks: Clocks) -> None:
        """Remember a read; earlier readers that are ordered before it are forgotten."""
        old = self.thread[granules]
        ordered = clocks.ordered(old, self.stamp[granules], who) & (self.spread[granules] < 3)
        kept = np.where(ordered, 0, np.maximum(self.spread[granules], apart(old, who, clocks.team)))
        self.thread[granules] = who.thread
        now = self.thread[granules]
        kept = np.maximum(kept, apart(now, who, clocks.team))
        self.spread[granules] = kept
        if (now != who.thread).any():
            np.maximum.at(self.spread, granules, kept.astype(np.int8))
        self.stamp[granules] = clocks.now
        self.site[granules] = who.site

    def conflict(self, granules: Array, who: Who, clocks: Clocks) -> Conflict | None:
        """The first read that is not ordered before a write by `who` now."""
        thread, spread, stamp = self.thread[granules], self.spread[granules], self.stamp[granules]
        alone = clocks.ordered(thread, stamp, who)
        team = clocks.team
        mine = thread // team.threads == who.slot + team.first
        warp = np.where(mine, (thread % team.threads) // team.warp, 0)
        in_warp = mine & (stamp < clocks.seen[who.slot, who.warp, warp])
        in_block = mine & (stamp < clocks.seen[who.slot, who.warp].max(axis=1))
        fine = np.select([spread == 0, spread == 1, spread == 2], [alone, in_warp, in_block], False)
        bad = ~fine & (thread != NOBODY)
        if not bad.any():
            return None
        entry = int(np.argmax(bad))
        other = int(thread[entry]) if thread[entry] != who.thread[entry] else SEVERAL
        return Conflict(entry, other, int(self.site[granules[entry]]), "read")


def apart(other: Array, who: Who, team: Team) -> Array:
    """How far apart two threads are: 0 the same, 1 in one warp, 2 in one block, 3 in two blocks."""
    mine = other // team.threads == who.slot + team.first
    near = (other % team.threads) // team.warp == who.warp
    far = np.where(mine, np.where(near, 1, 2), 3)
    return np.where((other == who.thread) | (other == NOBODY), 0, far).astype(np.int8)
