"""Release and acquire: a fence and an atomic here, an atomic on the same element and a fence there.

Within a cluster `Handover` keeps what hangs on elements, for single threads; between clusters
`Releases` does, in less room.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from hidet.sim.memory import Buffer
from hidet.sim.order.actors import GENERIC
from hidet.sim.order.clocks import Clocks
from hidet.sim.order.releases import joined
from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.values import Array, Mask
from hidet.target import WARP
from hidet.types import Scope


def fence(simt: SimtGroup, mask: Mask, scope: str) -> None:
    """What these threads know may be released to their cluster, or to the "gpu" or the "sys"."""
    slots, actors, _ = simt.actors(mask)
    simt.run.handover.fence(simt.clocks, slots, actors)
    if scope in ("gpu", "sys"):
        fence_blocks(simt.clocks, slots, actors, simt.number[mask])


def pass_on(
    simt: SimtGroup, buffer: Buffer, mask: Mask, at: Array, reads: bool, writes: bool
) -> None:
    """Threads access elements atomically, one each: they learn what hangs there, and release."""
    rows = np.arange(simt.count)[simt.lanes(mask)]
    if buffer.scope is Scope.GLOBAL:
        pass_to_blocks(simt, buffer, rows, at, reads, writes)
    published, clocks = simt.run.handover, simt.clocks
    if not published.released:
        return
    slots, actors, firsts = simt.actors(mask)
    named = dict(zip(firsts.tolist(), zip(slots, actors, strict=True), strict=True))
    for row, place in zip(rows.tolist(), at.tolist(), strict=True):
        slot, actor = named[row] if row in named else named[row // WARP * WARP]
        me = int(slot) // clocks.team.cluster, int(actor)
        published.touch(clocks, me, (id(buffer), place), reads, writes)


# ---- between clusters ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Touch:
    """Threads of one block that access one element atomically."""

    slot: int
    threads: Array
    """Their numbers in the launch: one, or those of a warp."""
    whole: bool
    """Whether it is all of the warp."""
    reads: bool
    writes: bool


def fence_blocks(clocks: Clocks, slots: Array, actors: Array, numbers: Array) -> None:
    """What `actors` know, and threads `numbers` did, may be released to other blocks."""
    now, releases = clocks.tick(), clocks.releases
    missing = int(numbers.max()) + 1 - len(releases.times)
    if missing > 0:
        releases.times = np.pad(releases.times, (0, len(releases.times) + missing))
    releases.times[numbers] = now
    for slot, actor in zip(slots.tolist(), actors.tolist(), strict=True):
        cluster = slot // clocks.team.cluster
        known = clocks.seen[:, cluster, actor].copy()
        known[:, actor] = np.maximum(known[:, actor], clocks.fenced[:, cluster, actor])
        if actor > clocks.all_warps:
            np.maximum(known, clocks.seen[:, cluster, clocks.warp_of(actor)], out=known)
        releases.fences[clocks.place(cluster), actor] = known


def exchange(clocks: Clocks, element: Hashable, by: Touch) -> None:
    """Threads access an element atomically: they learn what hangs on it, and release."""
    cluster = by.slot // clocks.team.cluster
    me, releases = clocks.place(cluster), clocks.releases
    inside = by.threads % clocks.team.threads
    warp = int(clocks.warp_actor(by.slot, int(inside[0]) // clocks.team.warp))
    actor = warp if by.whole else clocks.lane_actor(int(inside[0]), by.slot)
    if by.reads:
        known = clocks.seen[GENERIC, cluster, actor]
        known[0] = max(int(known[0]), releases.learn(element, me))
    elif by.writes:
        releases.offered.pop(element, None)
    last = int(by.threads.max())
    time = int(releases.times[by.threads].min()) if last < len(releases.times) else 0
    if by.writes and time:
        clock = np.zeros((3, actor + 1), np.int64)
        clock[GENERIC, actor] = time
        for each in (warp, actor)[: 1 if by.whole else 2]:
            snapshot = releases.fences.get((me, each))
            clock = clock if snapshot is None else joined(clock, snapshot)
        releases.offer(element, me, clock)


def pass_to_blocks(
    simt: SimtGroup, buffer: Buffer, touching: Array, at: Array, reads: bool, writes: bool
) -> None:
    """Through the elements they touch, threads learn what others made visible by fences."""
    clocks = simt.clocks
    if not clocks.releases.times.size:
        return
    mask = np.zeros(simt.count, np.bool_)
    mask[touching] = True
    torn = np.any((simt.everyone & ~mask).reshape(-1, WARP), axis=1)
    done = set()
    for row, place in zip(touching.tolist(), at.tolist(), strict=True):
        whole = not torn[row // WARP]
        first = row // WARP * WARP if whole else row
        if (first, place) in done:
            continue
        done.add((first, place))
        rows = np.arange(first, first + (WARP if whole else 1))
        rows = rows[simt.everyone[rows]]
        own = Touch(int(simt.slot[row]), simt.number[rows], bool(whole), reads, writes)
        exchange(clocks, (id(buffer), place), own)
