"""cp.async: copies that are under way until their group is waited for, or an mbarrier tells."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hidet.sim.access import addresses, granules, load, note_write
from hidet.sim.agents import launched
from hidet.sim.clocks import Agent
from hidet.sim.faults import MissingWait
from hidet.sim.gang import Gang
from hidet.sim.mbarriers import complete_copies, grouped
from hidet.sim.memory import Buffer, Pointer
from hidet.sim.values import Array, Mask, spread
from hidet.types import u8


@dataclass
class Copy:
    """One instruction's copies: for each thread `rows`, `data` bytes on their way to `at`."""

    target: Pointer
    rows: Array
    at: Array
    data: Array
    group: Array
    done: Array
    site: int


@dataclass
class Pipe:
    """The unfinished copies of a gang, and how many groups each thread has committed."""

    groups: Array
    copies: list[Copy] = field(default_factory=list)


def pipe(gang: Gang) -> Pipe:
    """The gang's own."""
    found: Pipe = gang.state.setdefault("copies", Pipe(np.zeros(gang.count, np.int64)))
    return found


def start(
    gang: Gang, target: Pointer, source: Pointer | None, nbytes: int, taken: Array, mask: Mask
) -> None:
    """Read the source now; the target is in flight, and may not be touched, until waited for."""
    data = np.zeros((gang.count, nbytes), np.uint8)
    for count in np.unique(taken[mask]):
        some = mask & (taken == count)
        if count > 0 and source is not None:
            found = load(gang, source, u8, int(count), some, nbytes)
            found = spread(found, gang.count, count > 1)
            data[some, : int(count)] = found[some].reshape(-1, int(count))
    lanes = gang.lanes(mask)
    at = addresses(gang, target, nbytes, lanes)
    note_write(gang, target.buffer, at, nbytes, lanes)
    touched, _ = granules(target.buffer, at, nbytes)
    if target.buffer.shadow is not None:
        target.buffer.shadow.launch(touched)
    rows = np.arange(gang.count)[lanes]
    flow = pipe(gang)
    done = np.zeros(len(rows), np.bool_)
    flow.copies.append(
        Copy(target, rows, at, data[lanes], flow.groups[rows].copy(), done, gang.site)
    )


def commit(gang: Gang, mask: Mask) -> None:
    """Close the current group of each thread."""
    pipe(gang).groups[mask] += 1


def wait(gang: Gang, mask: Mask, pending: int | None) -> None:
    """Finish all but the last `pending` committed groups of each thread; None: everything."""
    flow = pipe(gang)
    for copy in flow.copies:
        ready = mask[copy.rows] & ~copy.done
        if pending is not None:
            ready &= copy.group < flow.groups[copy.rows] - pending
        if ready.any():
            finish(gang, copy, ready)
    flow.copies = [copy for copy in flow.copies if not copy.done.all()]


def finish(gang: Gang, copy: Copy, ready: Array) -> None:
    """The bytes arrive, written by the thread that waited."""
    buffer, at = land(copy, ready), copy.at[ready]
    note_write(gang, buffer, at, copy.data.shape[1], copy.rows[ready])


def land(copy: Copy, ready: Array) -> Buffer:
    """Bytes arrive."""
    buffer, at, nbytes = copy.target.buffer, copy.at[ready], copy.data.shape[1]
    if buffer.shadow is not None:
        buffer.shadow.land(granules(buffer, at, nbytes)[0])
    buffer.view(np.dtype(np.uint8))[at[:, None] + np.arange(nbytes)] = copy.data[ready]
    copy.done[ready] = True
    return buffer


def finish_at_barrier(gang: Gang, barrier: Pointer, counts: bool, mask: Mask) -> None:
    """All copies that each thread has begun complete with the current phase of an mbarrier.

    With `counts` their completion is one of the arrivals that the phase expects of each thread;
    otherwise it expects one more for it.
    """
    flow = pipe(gang)
    for target, rows in grouped(gang, barrier, mask):
        agent = launched(gang, rows[:1], "asynchronous copy", None).agent
        some = np.isin(np.arange(gang.count), rows)
        for copy in flow.copies:
            ready = some[copy.rows] & ~copy.done
            if ready.any():
                buffer = land(copy, ready)
                hand_over(gang, buffer, copy, ready, agent)
        complete_copies(gang, target, agent, rows if counts else rows[:0])
    flow.copies = [copy for copy in flow.copies if not copy.done.all()]


def hand_over(gang: Gang, buffer: Buffer, copy: Copy, ready: Array, agent: Agent) -> None:
    """From now on the bytes count as written by an operation that completes at an mbarrier."""
    touched, _ = granules(buffer, copy.at[ready], copy.data.shape[1])
    if buffer.shadow is not None:
        buffer.shadow.writer[touched] = agent.number
        buffer.shadow.stamp[touched] = gang.clocks.now


def check_end(gang: Gang) -> None:
    """`MissingWait` if copies are under way when the kernel ends."""
    for copy in pipe(gang).copies:
        row = int(copy.rows[np.argmin(copy.done)])
        gang.site = copy.site
        gang.fault(
            MissingWait,
            f"the kernel ends while a copy into {copy.target.buffer.name} is under way",
            row,
            "wait for all copies, or begin only those that are needed",
        )
