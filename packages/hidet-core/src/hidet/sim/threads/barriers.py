"""Threads meeting: who must be there, who waits, and what is ordered afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

from hidet.errors import SimulationError
from hidet.sim.faults import DivergentBarrier
from hidet.sim.threads.gang import Gang
from hidet.sim.values import Array, Mask


@dataclass(eq=False)
class Meeting:
    """The block-wide barrier of one block, when its threads are in several SIMT groups."""

    gangs: list[Gang] = field(default_factory=list)
    """Those whose threads have come."""
    site: int = 0
    generation: int = 0


def block(gang: Gang, mask: Mask) -> Iterator[None] | None:
    """All threads of each block in the mask meet; those that left the kernel are not missed."""
    slots = np.unique(gang.slot[mask])
    expected = gang.everyone & ~gang.exited & np.isin(gang.slot, slots)
    missing = expected & ~mask
    if missing.any():
        row = int(np.argmax(missing))
        gang.fault(
            DivergentBarrier,
            "syncthreads is not reached by all threads of the block; one that is missing:",
            row,
            "move the barrier out of the branch or loop that only some threads take",
        )
    if gang.count < gang.team.threads * len(np.unique(gang.slot)):
        return block_in_parts(gang, mask, slots)
    gang.run.report.barriers += len(slots)
    gang.clocks.blocks_met(slots)
    return None


def block_in_parts(gang: Gang, mask: Mask, slots: Array) -> Iterator[None]:
    """The same, when the threads of a block are in several SIMT groups."""
    table: dict[int, Meeting] = gang.residents.state.setdefault("block barriers", {})
    tickets: list[tuple[int, Meeting, int]] = []
    for slot in slots.tolist():
        meeting = table.setdefault(slot, Meeting())
        if meeting.gangs and meeting.site != gang.site:
            gang.fault(
                DivergentBarrier,
                "threads of the block wait at another syncthreads, at "
                f"{gang.run.place(meeting.site)}",
                int(np.argmax(mask)),
            )
        meeting.gangs.append(gang)
        meeting.site = gang.site
        tickets.append((slot, meeting, meeting.generation))
    gang.run.progress += 1
    with gang.waiting(mask, lambda: "all threads of the block"):
        while True:
            tickets = [t for t in tickets if t[1].generation == t[2]]
            tickets = [t for t in tickets if not complete(gang, t[0], t[1])]
            if not tickets:
                return
            yield


def complete(gang: Gang, slot: int, meeting: Meeting) -> bool:
    """Whether all threads of a block have come; they then go on."""
    for other in gang.residents.gangs:
        if other not in meeting.gangs:
            left = other.everyone & ~other.exited & (other.slot == slot)
            if left.any():
                return False
    gang.run.report.barriers += 1
    gang.clocks.blocks_met(np.array([slot]))
    meeting.gangs, meeting.generation = [], meeting.generation + 1
    return True


def warp(gang: Gang, mask: Mask) -> None:
    """The lanes of each warp meet; lanes that left the kernel are not missed."""
    lanes = mask.reshape(-1, 32)
    expected = (gang.everyone & ~gang.exited).reshape(-1, 32)
    torn = lanes.any(axis=1) & (expected & ~lanes).any(axis=1)
    if torn.any():
        found = int(np.argmax(torn))
        row = found * 32 + int(np.argmax(expected[found] & ~lanes[found]))
        gang.fault(
            DivergentBarrier, "syncwarp is not reached by all lanes; one that is missing:", row
        )
    present = np.flatnonzero(lanes.any(axis=1)) * 32
    gang.clocks.warps_met(gang.slot[present], gang.warp[present])


def tally(gang: Gang, mask: Mask, holds: Array) -> Callable[[], tuple[Array, Array]]:
    """Count in how many threads of each block something holds, at the barrier that follows.

    A block may be in several SIMT groups: all of them come to its barriers in one order, so the
    n-th count of one is the n-th of the others.
    """
    counts: dict[tuple[int, int], Array] = gang.residents.state.setdefault("tallies", {})
    turns: dict[int, int] = gang.state.setdefault("tallies", {})
    votes = np.bincount(gang.slot, weights=mask & holds)
    there = np.bincount(gang.slot, weights=mask)
    mine: dict[int, tuple[int, int]] = {}
    for slot in np.flatnonzero(there).tolist():
        turns[slot] = turns.get(slot, 0) + 1
        mine[slot] = slot, turns[slot]
        before = counts.get(mine[slot], np.zeros(2, np.int32))
        counts[mine[slot]] = before + np.array([votes[slot], there[slot]], np.int32)

    def totals() -> tuple[Array, Array]:
        found = np.zeros((len(there), 2), np.int32)
        for slot, key in mine.items():
            found[slot] = counts[key]
        return found[gang.slot, 0], found[gang.slot, 1]

    return totals


def lanes(gang: Gang, mask: Mask) -> None:
    """Some lanes of each warp meet: those of whole warps together, others each by itself."""
    active = mask.reshape(-1, 32)
    whole = (active == (gang.everyone & ~gang.exited).reshape(-1, 32)).all(axis=1)
    first = np.flatnonzero(active.any(axis=1) & whole) * 32
    if len(first):
        gang.clocks.warps_met(gang.slot[first], gang.warp[first])
    clocks = gang.clocks
    for found in np.flatnonzero(active.any(axis=1) & ~whole):
        rows = found * 32 + np.flatnonzero(active[found])
        slot = int(gang.slot[rows[0]])
        cluster = slot // clocks.team.cluster
        actors = [clocks.lane_actor(int(gang.thread[row]), slot) for row in rows]
        clocks.tick()
        known = np.max([clocks.told(cluster, actor) for actor in actors], axis=0)
        for actor in actors:
            clocks.learn(cluster, actor, known)


@dataclass
class Named:
    """A named barrier of one block."""

    threads: int = 0
    expected: int = 0
    generation: int = 0
    told: list[Array] = field(default_factory=list)
    """What those who arrived know."""
    waiting: list[int] = field(default_factory=list)
    """Warps, as actors of the clocks."""


def named(gang: Gang, mask: Mask, number: int, threads: int, wait: bool) -> Iterator[None]:
    """Arrive at barrier `number` of each block in the mask, and wait for `threads` in all."""
    table: dict[tuple[int, int], Named] = gang.residents.state.setdefault("named barriers", {})
    tickets: list[tuple[Named, int]] = []
    for slot in np.unique(gang.slot[mask]):
        barrier = table.setdefault((int(slot), number), Named())
        tickets.append((barrier, barrier.generation))
        arrive(gang, mask & (gang.slot == slot), barrier, threads, wait, int(slot))
    gang.run.progress += 1

    def missing() -> str:
        barrier = next(b for b, ticket in tickets if b.generation == ticket)
        return f"barrier {number}, where {barrier.threads} of {threads} threads arrived"

    with gang.waiting(mask, missing):
        while wait and any(barrier.generation == ticket for barrier, ticket in tickets):
            yield


def arrive(gang: Gang, mask: Mask, barrier: Named, threads: int, wait: bool, slot: int) -> None:
    """Whole warps of one block arrive; the last ones let all go on."""
    if barrier.threads and barrier.expected != threads:
        gang.fault(
            SimulationError,
            f"a barrier is used with {barrier.expected} threads and with {threads} at once",
            int(np.argmax(mask)),
        )
    clocks, cluster = gang.clocks, slot // gang.team.cluster
    warps = [int(clocks.warp_actor(slot, int(w))) for w in np.unique(gang.warp[mask])]
    clocks.tick()
    barrier.expected = threads
    barrier.threads += 32 * len(warps)
    barrier.told += [clocks.told(cluster, warp) for warp in warps]
    barrier.waiting += warps if wait else []
    if barrier.threads > threads:
        gang.fault(
            SimulationError,
            f"{barrier.threads} threads arrived at a barrier for {threads}",
            int(np.argmax(mask)),
        )
    if barrier.threads == threads:
        for known in barrier.told:
            for warp in barrier.waiting:
                clocks.learn(cluster, warp, known)
        barrier.threads, barrier.told, barrier.waiting = 0, [], []
        barrier.generation += 1
        clocks.tick()
