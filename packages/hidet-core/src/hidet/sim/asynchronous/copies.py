"""cp.async: copies that are under way until their group is waited for, or an mbarrier tells.

An instruction's copies are one operation. Unlike others it acts for many threads, sees what each of
them sees, and is over for each at its own time: what a thread has waited for counts as written by
that thread.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hidet.sim.asynchronous.deliveries import promise_copies
from hidet.sim.asynchronous.mbarriers import grouped
from hidet.sim.memories.access import addresses, granules, load, note_write
from hidet.sim.memory import Buffer, Pointer, Sources
from hidet.sim.order.actors import AT_MBARRIER, Agent
from hidet.sim.order.clocks import Clocks
from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.values import Array, Mask, spread
from hidet.types import Scope, u8

KIND = "asynchronous copy"
ALL_SEEN = np.zeros((3, 1), np.int64)
"""What such an operation has seen by itself: it asks its threads."""


@dataclass
class Copies:
    """One instruction's copies: of each of `rows` the granules it writes, its group, its end."""

    agent: Agent
    target: Buffer
    rows: Array
    touched: Array
    group: Array
    done: Array


@dataclass
class Pipe:
    """The unfinished copies of a SIMT group, and how many groups each thread has committed."""

    groups: Array
    copies: list[Copies] = field(default_factory=list)


def pipe(simt: SimtGroup) -> Pipe:
    """The SIMT group's own."""
    found: Pipe = simt.state.setdefault("copies", Pipe(np.zeros(simt.count, np.int64)))
    return found


def start(
    simt: SimtGroup, target: Pointer, source: Pointer | None, nbytes: int, taken: Array, mask: Mask
) -> None:
    """Copy at once; until waited for, the target may not be touched, nor the source written."""
    lanes, buffer = simt.lanes(mask), target.buffer
    rows, flow = np.arange(simt.count)[lanes], pipe(simt)
    agent, done = begun(simt, int(rows[0]), KIND), np.zeros(len(rows), np.bool_)
    data = np.zeros((simt.count, nbytes), np.uint8)
    for count in np.unique(taken[mask]).tolist():
        if count > 0 and source is not None:
            some = mask & (taken == count)
            found = spread(load(simt, source, u8, count, some, nbytes), simt.count, count > 1)
            data[some, :count] = found[some].reshape(-1, count)
            hold(simt, source, count, some[lanes], rows, done, agent)
    at = addresses(simt, target, nbytes, lanes)
    note_write(simt, buffer, at, nbytes, lanes)
    buffer.view(np.dtype(np.uint8))[at[:, None] + np.arange(nbytes)] = data[lanes]
    touched = granules(buffer, at, nbytes)[0].reshape(len(rows), -1)
    if buffer.shadow is not None:
        buffer.shadow.belong(touched, agent.number)
    flow.copies.append(Copies(agent, buffer, rows, touched, flow.groups[rows], done))


def hold(
    simt: SimtGroup,
    source: Pointer,
    count: int,
    some: Array,
    rows: Array,
    done: Array,
    agent: Agent,
) -> None:
    """Nobody may write what some of the copies read before they are done."""
    buffer = source.buffer
    if buffer.shadow is None or buffer.scope is not Scope.GLOBAL:
        return  # nobody writes it
    which = np.flatnonzero(some)
    read, each = granules(buffer, addresses(simt, source, count, rows[which]), count)
    buffer.copied.append(Sources(agent.number - 1, read, np.repeat(which, each), done))


def commit(simt: SimtGroup, mask: Mask) -> None:
    """Close the current group of each thread."""
    pipe(simt).groups[mask] += 1


def wait(simt: SimtGroup, mask: Mask, pending: int | None) -> None:
    """Finish all but the last `pending` committed groups of each thread; None: everything."""
    flow = pipe(simt)
    for copies in flow.copies:
        ready = mask[copies.rows] & ~copies.done
        if pending is not None:
            ready &= copies.group < flow.groups[copies.rows] - pending
        if ready.any():
            finish(simt.clocks, copies, ready, simt.number[copies.rows[ready]][:, None])
    flow.copies = [copies for copies in flow.copies if not copies.done.all()]


def begun(simt: SimtGroup, row: int, completes_in: str) -> Agent:
    """An operation of several threads, called by the name of the first."""
    clocks, slot = simt.clocks, int(simt.slot[row])
    thread, cluster = int(simt.number[row]), slot // simt.team.cluster
    return clocks.begin(KIND, thread, cluster, simt.site, ALL_SEEN, (completes_in, thread))


def finish(clocks: Clocks, copies: Copies, ready: Array, owner: Array | int) -> None:
    """From now on the bytes count as written by others: the threads that waited, or an agent."""
    if copies.target.shadow is not None:
        copies.target.shadow.belong(copies.touched[ready], owner)
    copies.done[ready] = True
    if copies.done.all():
        clocks.retire(copies.agent)


def finish_at_barrier(simt: SimtGroup, barrier: Pointer, counts: bool, mask: Mask) -> None:
    """All copies that each thread has begun complete with the current phase of an mbarrier.

    With `counts` their completion is one of the arrivals that the phase expects of each thread;
    otherwise it expects one more for it.
    """
    flow = pipe(simt)
    for target, rows in grouped(simt, barrier, mask):
        agent = begun(simt, int(rows[0]), AT_MBARRIER)
        some = np.isin(np.arange(simt.count), rows)
        for copies in flow.copies:
            ready = some[copies.rows] & ~copies.done
            if ready.any():
                finish(simt.clocks, copies, ready, agent.number)
        promise_copies(simt, target, agent, rows, counts)
    flow.copies = [copies for copies in flow.copies if not copies.done.all()]
