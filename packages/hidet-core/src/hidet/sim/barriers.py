"""Threads meeting: who must be there, who waits, and what is ordered afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from hidet.errors import SimulationError
from hidet.sim.faults import DivergentBarrier
from hidet.sim.gang import Gang
from hidet.sim.values import Mask


def block(gang: Gang, mask: Mask) -> None:
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
    gang.run.report.barriers += len(slots)
    gang.clocks.blocks_met(slots)


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


def lanes(gang: Gang, mask: Mask) -> None:
    """Some lanes of each warp meet. Clocks are those of whole warps: lanes beyond the mask count as
    having met too, so that a race with them is not seen, and no alarm is false."""
    present = np.flatnonzero(mask.reshape(-1, 32).any(axis=1)) * 32
    gang.clocks.warps_met(gang.slot[present], gang.warp[present])


@dataclass
class Named:
    """A named barrier of one block."""

    threads: int = 0
    expected: int = 0
    generation: int = 0
    arrived: list[tuple[int, int]] = field(default_factory=list)
    """Warps that arrived, and when."""
    waiting: list[int] = field(default_factory=list)


def named(gang: Gang, mask: Mask, number: int, threads: int, wait: bool) -> Iterator[None]:
    """Arrive at barrier `number` of each block in the mask, and wait for `threads` in all."""
    table: dict[tuple[int, int], Named] = gang.state.setdefault("named barriers", {})
    tickets: list[tuple[Named, int]] = []
    for slot in np.unique(gang.slot[mask]):
        barrier = table.setdefault((int(slot), number), Named())
        tickets.append((barrier, barrier.generation))
        arrive(gang, mask & (gang.slot == slot), barrier, threads, wait, int(slot))
    gang.run.progress += 1
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
    warps = [int(w) for w in np.unique(gang.warp[mask])]
    now = gang.clocks.tick()
    barrier.expected = threads
    barrier.threads += 32 * len(warps)
    barrier.arrived += [(w, now) for w in warps]
    barrier.waiting += warps if wait else []
    if barrier.threads > threads:
        gang.fault(
            SimulationError,
            f"{barrier.threads} threads arrived at a barrier for {threads}",
            int(np.argmax(mask)),
        )
    if barrier.threads == threads:
        who, times = zip(*barrier.arrived, strict=True)
        waiting = np.array(barrier.waiting, np.int64)
        gang.clocks.joined(slot, np.array(who), waiting, np.array(times))
        barrier.threads, barrier.arrived, barrier.waiting = 0, [], []
        barrier.generation += 1
        gang.clocks.tick()
