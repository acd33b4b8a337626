"""Threads meeting: who must be there, who waits, and what is ordered afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from hidet.errors import SimulationError
from hidet.sim.faults import DivergentBarrier
from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.values import Array, Mask


@dataclass(eq=False)
class Arrivals:
    """The block-wide barrier of one block, when its threads are in several SIMT groups."""

    simt_groups: list[SimtGroup] = field(default_factory=list)
    """Those whose threads have come."""
    site: int = 0
    generation: int = 0


def block(simt: SimtGroup, mask: Mask) -> Iterator[None] | None:
    """All threads of each block in the mask meet; those that left the kernel are not missed."""
    slots = np.unique(simt.slot[mask])
    expected = simt.everyone & ~simt.exited & np.isin(simt.slot, slots)
    missing = expected & ~mask
    if missing.any():
        row = int(np.argmax(missing))
        simt.fault(
            DivergentBarrier,
            "syncthreads is not reached by all threads of the block; one that is missing:",
            row,
            "move the barrier out of the branch or loop that only some threads take",
        )
    if simt.count < simt.team.threads * len(np.unique(simt.slot)):
        return block_in_parts(simt, mask, slots)
    simt.run.report.barriers += len(slots)
    simt.clocks.blocks_met(slots)
    return None


def block_in_parts(simt: SimtGroup, mask: Mask, slots: Array) -> Iterator[None]:
    """The same, when the threads of a block are in several SIMT groups."""
    table: dict[int, Arrivals] = simt.residents.state.setdefault("block barriers", {})
    tickets: list[tuple[int, Arrivals, int]] = []
    for slot in slots.tolist():
        arrivals = table.setdefault(slot, Arrivals())
        if arrivals.simt_groups and arrivals.site != simt.site:
            simt.fault(
                DivergentBarrier,
                "threads of the block wait at another syncthreads, at "
                f"{simt.run.place(arrivals.site)}",
                int(np.argmax(mask)),
            )
        arrivals.simt_groups.append(simt)
        arrivals.site = simt.site
        tickets.append((slot, arrivals, arrivals.generation))
    simt.run.progress += 1
    with simt.waiting(mask, lambda: "all threads of the block"):
        while True:
            tickets = [t for t in tickets if t[1].generation == t[2]]
            tickets = [t for t in tickets if not complete(simt, t[0], t[1])]
            if not tickets:
                return
            yield


def complete(simt: SimtGroup, slot: int, arrivals: Arrivals) -> bool:
    """Whether all threads of a block have come; they then go on."""
    for other in simt.residents.simt_groups:
        if other not in arrivals.simt_groups:
            left = other.everyone & ~other.exited & (other.slot == slot)
            if left.any():
                return False
    simt.run.report.barriers += 1
    simt.clocks.blocks_met(np.array([slot]))
    arrivals.simt_groups, arrivals.generation = [], arrivals.generation + 1
    return True


def warp(simt: SimtGroup, mask: Mask) -> None:
    """The lanes of each warp meet; lanes that left the kernel are not missed."""
    lanes = mask.reshape(-1, 32)
    expected = (simt.everyone & ~simt.exited).reshape(-1, 32)
    torn = lanes.any(axis=1) & (expected & ~lanes).any(axis=1)
    if torn.any():
        found = int(np.argmax(torn))
        row = found * 32 + int(np.argmax(expected[found] & ~lanes[found]))
        simt.fault(
            DivergentBarrier, "syncwarp is not reached by all lanes; one that is missing:", row
        )
    present = np.flatnonzero(lanes.any(axis=1)) * 32
    simt.clocks.warps_met(simt.slot[present], simt.warp[present])


def tally(simt: SimtGroup, mask: Mask, holds: Array) -> Callable[[], tuple[Array, Array]]:
    """Count in how many threads of each block something holds, at the barrier that follows.

    A block may be in several SIMT groups: all of them come to its barriers in one order, so the
    n-th count of one is the n-th of the others.
    """
    counts: dict[tuple[int, int], Array] = simt.residents.state.setdefault("tallies", {})
    rounds: dict[int, int] = simt.state.setdefault("tallies", {})
    votes = np.bincount(simt.slot, weights=mask & holds)
    there = np.bincount(simt.slot, weights=mask)
    mine: dict[int, tuple[int, int]] = {}
    for slot in np.flatnonzero(there).tolist():
        rounds[slot] = rounds.get(slot, 0) + 1
        mine[slot] = slot, rounds[slot]
        before = counts.get(mine[slot], np.zeros(2, np.int32))
        counts[mine[slot]] = before + np.array([votes[slot], there[slot]], np.int32)

    def summed() -> tuple[Array, Array]:
        found = np.zeros((len(there), 2), np.int32)
        for slot, key in mine.items():
            found[slot] = counts[key]
        return found[simt.slot, 0], found[simt.slot, 1]

    return summed


def lanes(simt: SimtGroup, mask: Mask) -> None:
    """Some lanes of each warp meet: those of whole warps together, others each by itself."""
    active = mask.reshape(-1, 32)
    whole = (active == (simt.everyone & ~simt.exited).reshape(-1, 32)).all(axis=1)
    first = np.flatnonzero(active.any(axis=1) & whole) * 32
    if len(first):
        simt.clocks.warps_met(simt.slot[first], simt.warp[first])
    clocks = simt.clocks
    for found in np.flatnonzero(active.any(axis=1) & ~whole):
        rows = found * 32 + np.flatnonzero(active[found])
        slot = int(simt.slot[rows[0]])
        cluster = slot // clocks.team.cluster
        actors = [clocks.lane_actor(int(simt.thread[row]), slot) for row in rows]
        clocks.tick()
        known = np.max([clocks.published(cluster, actor) for actor in actors], axis=0)
        for actor in actors:
            clocks.learn(cluster, actor, known)


@dataclass
class Named:
    """A named barrier of one block."""

    threads: int = 0
    expected: int = 0
    generation: int = 0
    published: list[Array] = field(default_factory=list)
    """What those who arrived know."""
    waiting: list[int] = field(default_factory=list)
    """Warps, as actors of the clocks."""


def named(simt: SimtGroup, mask: Mask, number: int, threads: int, wait: bool) -> Iterator[None]:
    """Arrive at barrier `number` of each block in the mask, and wait for `threads` in all."""
    table: dict[tuple[int, int], Named] = simt.residents.state.setdefault("named barriers", {})
    tickets: list[tuple[Named, int]] = []
    for slot in np.unique(simt.slot[mask]):
        barrier = table.setdefault((int(slot), number), Named())
        tickets.append((barrier, barrier.generation))
        arrive(simt, mask & (simt.slot == slot), barrier, threads, wait, int(slot))
    simt.run.progress += 1

    def missing() -> str:
        barrier = next(b for b, ticket in tickets if b.generation == ticket)
        return f"barrier {number}, where {barrier.threads} of {threads} threads arrived"

    with simt.waiting(mask, missing):
        while wait and any(barrier.generation == ticket for barrier, ticket in tickets):
            yield


def arrive(
    simt: SimtGroup, mask: Mask, barrier: Named, threads: int, wait: bool, slot: int
) -> None:
    """Whole warps of one block arrive; the last ones let all go on."""
    if barrier.threads and barrier.expected != threads:
        simt.fault(
            SimulationError,
            f"a barrier is used with {barrier.expected} threads and with {threads} at once",
            int(np.argmax(mask)),
        )
    clocks, cluster = simt.clocks, slot // simt.team.cluster
    warps = [int(clocks.warp_actor(slot, int(w))) for w in np.unique(simt.warp[mask])]
    clocks.tick()
    barrier.expected = threads
    barrier.threads += 32 * len(warps)
    barrier.published += [clocks.published(cluster, warp) for warp in warps]
    barrier.waiting += warps if wait else []
    if barrier.threads > threads:
        simt.fault(
            SimulationError,
            f"{barrier.threads} threads arrived at a barrier for {threads}",
            int(np.argmax(mask)),
        )
    if barrier.threads == threads:
        for known in barrier.published:
            for warp in barrier.waiting:
                clocks.learn(cluster, warp, known)
        barrier.threads, barrier.published, barrier.waiting = 0, [], []
        barrier.generation += 1
        clocks.tick()
