"""What asynchronous operations bring to mbarriers, as late as it may come.

Nothing says when an operation completes but its barrier. Here it does when no thread can go on
without it: a kernel that does not really wait for it, by a wrong parity for instance, then finds
what is not there yet, rather than to be lucky.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from hidet.sim.asynchronous.mbarriers import MOST, NBYTES, Mbarrier, misuse, note_use, usable
from hidet.sim.asynchronous.phases import advance, arrive_once, join
from hidet.sim.faults import MissingFence
from hidet.sim.memories.access import addresses
from hidet.sim.memory import Pointer
from hidet.sim.order.actors import ASYNC_GLOBAL, ASYNC_SHARED, GENERIC, Agent
from hidet.sim.threads.simt_group import Residents, SimtGroup
from hidet.sim.values import Array


@dataclass(frozen=True)
class Delivery:
    """What is still to come: bytes, or arrivals of threads whose copies are done."""

    simt: SimtGroup
    barrier: Mbarrier
    agent: Agent
    row: int
    """The thread that began the operation."""
    nbytes: int = 0
    arriving: tuple[int, ...] = ()


def promised(residents: Residents) -> deque[Delivery]:
    """All deliveries under way, the oldest first."""
    found: deque[Delivery] = residents.state.setdefault("deliveries", deque())
    return found


def promise_bytes(
    simt: SimtGroup, row: int, slot: int, pointer: Pointer, nbytes: int, agent: Agent
) -> None:
    """An asynchronous operation will bring bytes to a barrier of block `slot`."""
    rows, buffer = np.array([row]), pointer.buffer
    (mine,) = addresses(simt, pointer, NBYTES, rows)
    position = int(mine) + (slot - int(simt.slot[row])) * buffer.stride
    barrier = usable(simt, buffer, position, rows)
    check_fence(simt, barrier, agent, row)
    note_use(simt, barrier, rows, agent)
    promised(simt.residents).append(Delivery(simt, barrier, agent, row, nbytes))


def promise_copies(
    simt: SimtGroup, barrier: Mbarrier, agent: Agent, rows: Array, counts: bool
) -> None:
    """The copies of these threads will be done; if that `counts`, it is an arrival of each.

    Otherwise the current phase expects one more arrival of each, which this is.
    """
    if not counts:
        barrier.pending += len(rows)
    arriving = tuple(rows.tolist())
    promised(simt.residents).append(Delivery(simt, barrier, agent, arriving[0], 0, arriving))


def deliver(residents: Residents) -> bool:
    """The oldest deliveries arrive, until a phase is complete; whether there were any."""
    queue = promised(residents)
    if not queue:
        return False
    while queue:
        each = queue.popleft()
        phase = each.barrier.phase
        arrive_late(each)
        if each.barrier.phase != phase:
            break
    return True


def arrive_late(delivery: Delivery) -> None:
    """A delivery comes to the current phase of its barrier."""
    simt, barrier, agent = delivery.simt, delivery.barrier, delivery.agent
    simt.site = agent.site
    simt.run.progress += 1
    barrier.completed.append(agent)
    for row in delivery.arriving:
        arrive_once(simt, barrier, 1, row)
    if delivery.arriving:
        return
    barrier.bytes -= delivery.nbytes
    if barrier.bytes < -MOST:
        message = f"{barrier.name()} got {-barrier.bytes} bytes that nothing expects"
        misuse(simt, message, delivery.row)
    join(barrier, passed_on(agent))
    advance(simt, barrier)


def passed_on(agent: Agent) -> Array:
    """What those who wait for an operation see then of what its issuer saw before."""
    if agent.generic:
        return agent.clock
    seen = agent.clock[[ASYNC_SHARED, ASYNC_SHARED, ASYNC_GLOBAL]].copy()
    seen[GENERIC] = np.minimum(agent.clock[ASYNC_SHARED], agent.clock[ASYNC_GLOBAL])
    return seen


def check_fence(simt: SimtGroup, barrier: Mbarrier, agent: Agent, row: int) -> None:
    """`MissingFence` if the asynchronous proxy does not see the initialisation."""
    who = simt.who(np.array([row]))
    who.agent, agent.space = agent, ASYNC_SHARED
    stamp = np.array([barrier.stamp])
    if barrier.fenced or simt.clocks.ordered(barrier.initialiser.thread, stamp, who)[0]:
        return
    simt.fault(
        MissingFence,
        f"{agent.name} completes at {barrier.name()}, whose initialisation it may not see",
        row,
        "after mbarrier_init, call fence_mbarrier_init() and then let the threads meet",
    )
