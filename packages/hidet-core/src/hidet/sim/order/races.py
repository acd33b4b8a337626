"""Who touched what: a shadow of memory that remembers the last writer and the readers since."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from hidet.sim.order.actors import GENERIC, NOBODY, SEVERAL, Team, Who, pick
from hidet.sim.order.clocks import Clocks
from hidet.sim.values import Array, every, some


@dataclass(frozen=True)
class Conflict:
    """An access that nothing orders with an earlier one."""

    entry: int
    other: int
    """The other thread; `SEVERAL` if there are more than one."""
    site: int
    verb: str
    stamp: int = 0


class Shadow:
    """The last writer and the readers of each granule of a buffer."""

    def __init__(self, granules: int, clocks: Clocks, readers: Readers) -> None:
        self.clocks = clocks
        self.touched = False
        self.writer = np.full(granules, NOBODY, np.int32)
        self.stamp = np.zeros(granules, np.int32)
        self.site = np.zeros(granules, np.int32)
        self.atomic = np.zeros(granules, np.bool_)
        self.sealed = np.zeros(0, np.bool_)
        """Where mbarriers are, which only their own instructions may touch."""
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
        self.writer[granules] = who.thread if who.agent is None else who.agent.number
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
        if not some(bad):
            return None
        entry = int(np.argmax(bad))
        stamp, site = int(self.stamp[granules[entry]]), int(self.site[granules[entry]])
        return Conflict(entry, int(other[entry]), site, verb, stamp)

    def disagree(self, granules: Array, who: Who) -> Array:
        """Where, in the write just noted, another thread wrote the same granule."""
        found: Array = self.writer[granules] != who.thread
        return found

    def belong(self, granules: Array, owner: Array | int) -> None:
        """What was last written there counts as written now by other threads, or an agent."""
        self.writer[granules] = owner
        self.stamp[granules] = self.clocks.now

    def seal(self, granules: Array, sealed: bool) -> None:
        """An mbarrier comes into being in these granules, or is gone."""
        if not self.sealed.size:
            self.sealed = np.zeros(self.writer.size, np.bool_)
        self.sealed[granules] = sealed

    def barrier(self, granules: Array) -> int | None:
        """The first of the accesses that touches an mbarrier."""
        if not self.sealed.size:
            return None
        hit = self.sealed[granules]
        return int(np.argmax(hit)) if some(hit) else None


class Readers:
    """Remembers who read each granule since it was last written."""

    def note(self, granules: Array, who: Who, clocks: Clocks) -> None:
        """Remember a read."""
        raise NotImplementedError

    def conflict(self, granules: Array, who: Who, clocks: Clocks) -> Conflict | None:
        """The first read that is not ordered before a write by `who` now."""
        raise NotImplementedError


class WarpReaders(Readers):
    """For shared memory: when each warp of the cluster last read, and by which thread.

    After the warps come the channels by which asynchronous readers complete in order.
    """

    def __init__(self, granules: int, warps: int) -> None:
        self.warps = warps
        self.stamp = np.zeros((granules, warps), np.int32)
        self.thread = np.full((granules, warps), NOBODY, np.int32)
        self.site = np.zeros(granules, np.int32)
        self.columns: dict[Hashable, int] = {}

    def note(self, granules: Array, who: Who, clocks: Clocks) -> None:
        """Remember a read: one thread of each warp, or that there were several."""
        self.site[granules] = who.site
        if who.agent is not None:
            column = self.column(who.agent.completes_in)
            self.thread[granules, column] = who.agent.number - 1
            return
        actor = clocks.warp_actor(who.slot, who.warp)
        warp = actor - 1
        old = self.thread[granules, warp]
        seen = clocks.seen[GENERIC, who.slot // clocks.team.cluster, actor, actor]
        stale = (self.stamp[granules, warp] < seen) | (old == NOBODY) | (old == who.thread)
        self.thread[granules, warp] = who.thread
        alone = stale & (self.thread[granules, warp] == who.thread)
        self.thread[granules[~alone], warp[~alone]] = SEVERAL
        self.stamp[granules, warp] = clocks.now

    def column(self, key: Hashable) -> int:
        """Where asynchronous reads are noted that complete in the order in which they began."""
        if key not in self.columns:
            self.columns[key] = self.warps + len(self.columns)
            if self.columns[key] == self.thread.shape[1]:
                more = max(1, len(self.columns) // 2)  # all of it is copied
                self.thread = np.pad(self.thread, ((0, 0), (0, more)), constant_values=NOBODY)
        return self.columns[key]

    def conflict(self, granules: Array, who: Who, clocks: Clocks) -> Conflict | None:
        """The first read that is not ordered before a write by `who` now."""
        thread = self.thread[granules]
        stamp = self.stamp[granules]
        if who.agent is not None:
            known = who.agent.clock[GENERIC, 1 : 1 + self.warps]
        else:
            rows = clocks.warp_actor(who.slot, who.warp)
            cluster = who.slot // clocks.team.cluster
            known = clocks.seen[GENERIC, cluster, rows, 1 : 1 + self.warps]
        bad = (thread != NOBODY) & (thread != who.thread[:, None])
        bad[:, : self.warps] &= stamp >= known
        if not some(bad):
            return None
        entry, column = np.nonzero(bad)
        fine = self.ordered(thread[entry, column], stamp, entry, column, who, clocks)
        if every(fine):
            return None
        first = int(np.argmin(fine))
        place, other = int(entry[first]), int(thread[entry[first], column[first]])
        return Conflict(place, other, int(self.site[granules[place]]), "read")

    def ordered(
        self, other: Array, stamp: Array, entry: Array, column: Array, who: Who, clocks: Clocks
    ) -> Array:
        """Whether single reads are ordered before `who`'s now, where warps do not tell."""
        warps = np.minimum(column, self.warps - 1)
        me = pick(who, entry)
        found = clocks.ordered(other, stamp[entry, warps], me, generic=True)
        several = np.flatnonzero(other == SEVERAL)
        if len(several) and who.agent is None:
            known = clocks.known_of(pick(me, several), 1 + warps[several])
            found[several] = stamp[entry[several], warps[several]] < known
        return found


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
        ordered = clocks.ordered(old, self.stamp[granules], who, generic=True)
        ordered &= self.spread[granules] < 3
        kept = np.where(ordered, 0, np.maximum(self.spread[granules], apart(old, who, clocks.team)))
        if who.agent is not None:
            self.thread[granules] = who.agent.number - 1
            self.spread[granules], self.site[granules] = kept, who.site
            return
        self.thread[granules] = who.thread
        now = self.thread[granules]
        kept = np.maximum(kept, apart(now, who, clocks.team))
        self.spread[granules] = kept
        if some(now != who.thread):
            np.maximum.at(self.spread, granules, kept.astype(np.int8))
        self.stamp[granules] = clocks.now
        self.site[granules] = who.site

    def conflict(self, granules: Array, who: Who, clocks: Clocks) -> Conflict | None:
        """The first read that is not ordered before a write by `who` now."""
        thread, spread, stamp = self.thread[granules], self.spread[granules], self.stamp[granules]
        alone = clocks.ordered(thread, stamp, who, generic=True)
        team = clocks.team
        near, warp = clocks.near(thread, who)
        mine = near & (thread // team.threads == who.slot + team.first)
        if who.agent is not None:
            known = np.broadcast_to(
                who.agent.clock[GENERIC], (len(thread), who.agent.clock.shape[1])
            )
        else:
            rows, cluster = clocks.warp_actor(who.slot, who.warp), who.slot // team.cluster
            known = clocks.seen[GENERIC, cluster, rows]
        in_warp = near & (stamp < np.take_along_axis(known, warp[:, None], 1)[:, 0])
        in_block = mine & (stamp < known[:, 1 : 1 + clocks.all_warps].max(axis=1))
        fine = np.select([spread == 0, spread == 1, spread == 2], [alone, in_warp, in_block], False)
        bad = ~fine & (thread != NOBODY)
        if clocks.releases.logs and some(bad):
            rest = np.flatnonzero(bad & ~near & (spread < 3))
            bad[rest] = ~clocks.far(thread[rest], stamp[rest], pick(who, rest), wide=spread[rest])
        if not some(bad):
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
