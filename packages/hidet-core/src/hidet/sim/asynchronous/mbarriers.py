"""mbarriers: objects in shared memory at which threads and asynchronous operations arrive.

Here they come into being, are found, and are taken away; `phases` has their phases, `deliveries`
what asynchronous operations bring.
PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from hidet.sim.faults import MbarrierMisuse, Race
from hidet.sim.memories.access import addresses, granules, note_write
from hidet.sim.memory import Buffer, Pointer
from hidet.sim.order.actors import Agent, Who
from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.values import Array, Mask

NBYTES = 8
MOST = (1 << 20) - 1
"""Arrivals and bytes that one phase may expect at most."""


@dataclass
class Mbarrier:
    """One mbarrier, in its current phase."""

    buffer: Buffer
    position: int
    """In bytes, in the buffer's data."""
    slot: int
    channel: int
    """The barrier as an actor of the clocks: its row is what its completed phases tell."""
    count: int
    """Arrivals that each phase expects."""
    initialiser: Who
    stamp: int
    pending: int
    phase: int = 0
    """How many phases have completed."""
    bytes: int = 0
    """Bytes that this phase still expects; negative if some came before they were expected."""
    fenced: bool = False
    """Whether the initialisation was made visible to asynchronous operations and the cluster."""
    published: Array = field(default_factory=lambda: np.zeros((3, 1), np.int64))
    """What those who arrived in this phase pass on."""
    completed: list[Agent] = field(default_factory=list)
    """Operations that completed in this phase."""
    gone: bool = False
    """Whether it was invalidated."""
    looking: dict[int, int] = field(default_factory=dict)
    """Threads that found a phase not complete, and which."""

    def name(self) -> str:
        """The barrier, as a reader knows it."""
        return f"mbarrier {self.buffer.at(self.position % self.buffer.stride)}"

    def state(self) -> str:
        """What the current phase waits for, in words."""
        missing = [f"{self.pending} of {self.count} arrivals are missing"] * bool(self.pending)
        if self.bytes > 0:
            missing.append(f"{self.bytes} bytes are missing")
        elif self.bytes < 0:
            missing.append(f"{-self.bytes} bytes more came than were expected")
        return f"phase {self.phase} of {self.name()}, in which {' and '.join(missing)}"


def table(simt: SimtGroup) -> dict[tuple[int, int], Mbarrier]:
    """All mbarriers of the resident blocks, by buffer and position."""
    return simt.mbarriers


# ---- coming and going ---------------------------------------------------------------------------


def initialise(simt: SimtGroup, pointer: Pointer, counts: Array, mask: Mask) -> None:
    """Make the 8 bytes behind each thread's pointer an mbarrier that expects `counts` arrivals."""
    buffer, clocks = pointer.buffer, simt.clocks
    for row, position in positions(simt, pointer, mask):
        count = int(counts[row])
        if not 0 < count <= MOST:
            misuse(simt, f"an mbarrier expects 1 to {MOST} arrivals, not {count}", row)
        if (id(buffer), position) in table(simt):
            misuse(
                simt,
                f"{table(simt)[id(buffer), position].name()} is initialised again",
                row,
                "invalidate it by mbarrier_inval first",
            )
        note_write(simt, buffer, np.array([position]), NBYTES, np.array([row]))
        seal(buffer, position, True)
        slot = int(simt.slot[row])
        key = ("mbarrier", id(buffer), position % buffer.stride, slot % simt.team.cluster)
        channel = clocks.channel(key)
        who = simt.who(np.array([row]))
        table(simt)[id(buffer), position] = Mbarrier(
            buffer, position, slot, channel, count, who, clocks.now, count
        )
    simt.run.progress += 1


def invalidate(simt: SimtGroup, pointer: Pointer, mask: Mask) -> None:
    """The memory of each barrier may be used for something else."""
    for row, barrier in found(simt, pointer, mask):
        seal(barrier.buffer, barrier.position, False)
        del table(simt)[id(barrier.buffer), barrier.position]
        barrier.gone = True
        at = np.array([barrier.position])
        note_write(simt, barrier.buffer, at, NBYTES, np.array([row]))
        touched, _ = granules(barrier.buffer, at, NBYTES)
        if barrier.buffer.written is not None:
            barrier.buffer.written[touched] = False


def fence_initialisations(simt: SimtGroup, mask: Mask) -> None:
    """What these threads initialised is visible to asynchronous operations and the cluster."""
    numbers = set(simt.number[mask].tolist())
    for barrier in table(simt).values():
        barrier.fenced |= int(barrier.initialiser.thread[0]) in numbers


def seal(buffer: Buffer, position: int, sealed: bool) -> None:
    """Forbid, or allow, ordinary accesses."""
    if buffer.shadow is not None:
        buffer.shadow.seal(granules(buffer, np.array([position]), NBYTES)[0], sealed)


# ---- finding them -------------------------------------------------------------------------------


def positions(simt: SimtGroup, pointer: Pointer, mask: Mask) -> list[tuple[int, int]]:
    """Each row of the mask, and the position of its barrier."""
    lanes = simt.lanes(mask)
    at = addresses(simt, pointer, NBYTES, lanes)
    return list(zip(np.arange(simt.count)[lanes].tolist(), at.tolist(), strict=True))


def grouped(simt: SimtGroup, pointer: Pointer, mask: Mask) -> list[tuple[Mbarrier, Array]]:
    """Each barrier that the threads use, with their rows."""
    if not mask.any():
        return []
    lanes = simt.lanes(mask)
    at = addresses(simt, pointer, NBYTES, lanes)
    rows = np.arange(simt.count)[lanes]
    out = []
    for position in np.unique(at):
        some = rows[at == position]
        out.append((usable(simt, pointer.buffer, int(position), some), some))
    return out


def found(simt: SimtGroup, pointer: Pointer, mask: Mask) -> list[tuple[int, Mbarrier]]:
    """Each row of the mask, and its barrier."""
    return [(int(row), b) for b, rows in grouped(simt, pointer, mask) for row in rows]


def usable(simt: SimtGroup, buffer: Buffer, position: int, rows: Array) -> Mbarrier:
    """The barrier at a position, initialised before the threads use it."""
    barrier = table(simt).get((id(buffer), position))
    if barrier is None:
        name = buffer.at(position % buffer.stride)
        misuse(simt, f"{name} is used as an mbarrier before mbarrier_init", int(rows[0]))
    many = np.full(len(rows), barrier.initialiser.thread[0])
    fine = simt.clocks.ordered(many, np.full(len(rows), barrier.stamp), simt.who(rows))
    if not fine.all():
        unordered(simt, barrier, int(rows[np.argmin(fine)]))
    return barrier


def note_use(simt: SimtGroup, barrier: Mbarrier, rows: Array, agent: Agent | None = None) -> None:
    """Using a barrier reads its memory: whoever takes it away has to come after that."""
    if barrier.buffer.shadow is not None:
        touched, each = granules(barrier.buffer, np.full(len(rows), barrier.position), NBYTES)
        barrier.buffer.shadow.readers.note(touched, simt.who(rows, each, agent), simt.clocks)


def unordered(simt: SimtGroup, barrier: Mbarrier, row: int) -> NoReturn:
    """Raise the `Race` between a barrier's initialisation and its use."""
    place = simt.run.place(barrier.initialiser.site)
    where = f" at {place}" if place else ""
    message = f"{barrier.name()} is used, but nothing orders this after its initialisation{where}"
    simt.fault(Race, message, row, "let the threads meet at a barrier after mbarrier_init")


def misuse(simt: SimtGroup, message: str, row: int, help: str | None = None) -> NoReturn:
    """Raise `MbarrierMisuse`."""
    simt.fault(MbarrierMisuse, message, row, help)
