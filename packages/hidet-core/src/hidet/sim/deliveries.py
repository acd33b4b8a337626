"""cp.async completed by mbarriers: the copies arrive where their thread would.

From then on the copies of a warp (or of a single thread) are one asynchronous operation, done for
those who waited for the barrier's phase. PTX ISA: cp.async.mbarrier.arrive.
"""

from __future__ import annotations

import numpy as np

from hidet.sim.access import granules, note_write
from hidet.sim.clocks import GENERIC, Agent
from hidet.sim.copies import Copy, pipe
from hidet.sim.gang import Gang
from hidet.sim.mbarriers import Mbarrier, arrive_once, grouped, note_use
from hidet.sim.memory import Pointer
from hidet.sim.values import Array, Mask

WARP = 32


def arrive(gang: Gang, pointer: Pointer, counted: bool, mask: Mask) -> None:
    """Each thread arrives when all its copies so far are done.

    If that is `counted`, the barrier was told of the arrival; else it expects one more for it.
    """
    gang.clocks.tick()
    for barrier, rows in grouped(gang, pointer, mask):
        note_use(gang, barrier, rows)
        some = np.zeros(gang.count, np.bool_)
        some[rows] = True
        for slot, actor, first in zip(*gang.actors(some), strict=True):
            lanes = np.arange(first, first + WARP) if actor <= gang.clocks.all_warps else first
            deliver(gang, barrier, np.atleast_1d(lanes), int(slot), int(actor))
        for row in rows if counted else ():
            arrive_once(gang, barrier, 1, int(row))
    flow = pipe(gang)
    flow.copies = [copy for copy in flow.copies if not copy.done.all()]
    gang.run.progress += 1


def deliver(gang: Gang, barrier: Mbarrier, rows: Array, slot: int, actor: int) -> None:
    """The copies of these threads are one operation that completes in the current phase."""
    mine = [(copy, np.isin(copy.rows, rows) & ~copy.done) for copy in pipe(gang).copies]
    if not any(some.any() for _, some in mine):
        return
    clocks, cluster = gang.clocks, slot // gang.team.cluster
    known, first = clocks.told(cluster, actor), int(gang.number[rows[0]])
    owner = ("cp.async", actor)
    agent = clocks.begin("cp.async", first, cluster, gang.site, known, owner)
    agent.space = GENERIC
    for copy, some in mine:
        if some.any():
            land(gang, copy, some, agent)
    barrier.completed.append(agent)


def land(gang: Gang, copy: Copy, some: Array, agent: Agent) -> None:
    """The bytes are there, for those who know of the operation's end."""
    buffer, at, nbytes = copy.target.buffer, copy.at[some], copy.data.shape[1]
    if buffer.shadow is not None:
        buffer.shadow.land(granules(buffer, at, nbytes)[0])
    note_write(gang, buffer, at, nbytes, copy.rows[some], agent=agent)
    buffer.view(np.dtype(np.uint8))[at[:, None] + np.arange(nbytes)] = copy.data[some]
    copy.done[some] = True
