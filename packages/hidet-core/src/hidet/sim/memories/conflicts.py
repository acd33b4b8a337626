"""Saying what is wrong when two accesses conflict and nothing orders them."""

from __future__ import annotations

import numpy as np

from hidet.errors import SimulationError
from hidet.ir.kernel import KernelKind
from hidet.sim.faults import MissingFence, MissingWait, Race
from hidet.sim.memory import Buffer
from hidet.sim.order.actors import AGENTS, AT_MBARRIER, Who, pick
from hidet.sim.order.races import Conflict
from hidet.sim.threads.simt_group import SimtGroup, thread_name
from hidet.sim.values import Array
from hidet.types import Scope

ADVICE: dict[type[SimulationError], str] = {
    Race: "put a barrier between the accesses, or use an atomic",
    MissingWait: "wait for the mbarrier or group by which the operation completes, then "
    "synchronise with those who did not wait",
    MissingFence: "let the threads that wrote call fence_proxy_async() before they synchronise",
}

BLOCKS = (
    "no barrier orders blocks: use an atomic, choose a grid whose blocks write elements of their "
    "own, or read in a second launch what the first one wrote"
)
"""What to do about a race between two blocks."""
ITERATIONS = "let each iteration write elements of its own, or make the loop a serial one"
"""What to do about a race between iterations of a parallel loop."""


def report_race(
    simt: SimtGroup, buffer: Buffer, touched: Array, who: Who, conflict: Conflict, verb: str
) -> None:
    """Raise the error for an access, with both threads and both places."""
    where = int(touched[conflict.entry]) * buffer.granule % buffer.stride
    kind = kind_of(simt, buffer, touched, who, conflict)
    me = thread_name(simt.run, simt.team, int(who.thread[conflict.entry]))
    if who.agent is not None:
        me = f"{who.agent.name} of {me}"
    by_agent = conflict.other <= AGENTS
    site = simt.clocks.agent(conflict.other).site if by_agent else conflict.site
    earlier = simt.run.place(site)
    at = f" at {earlier}" if earlier else ""
    simt.fault(
        kind,
        f"race on {buffer.scope} {buffer.at(where)}: {me} {verb} what "
        f"{other_name(simt, conflict.other)} {conflict.verb}{at}, and {REASONS[kind]}",
        help=advice(simt, kind, buffer, int(who.thread[conflict.entry]), conflict),
    )


def advice(
    simt: SimtGroup, kind: type[SimulationError], buffer: Buffer, thread: int, conflict: Conflict
) -> str:
    """What to do; for who waited for a wrong phase of an mbarrier, where that was."""
    by_agent = conflict.other <= AGENTS
    if by_agent and simt.clocks.agent(conflict.other).completes_in[0] == AT_MBARRIER:
        found = simt.last_wait(int(np.argmax(simt.number == thread)))
        if found is not None:
            return found
    if kind is Race and buffer.scope is Scope.GLOBAL and conflict.other >= 0:
        if simt.run.kernel.kind is KernelKind.CPU:
            return ITERATIONS
        if thread // simt.team.threads != conflict.other // simt.team.threads:
            return BLOCKS
    return ADVICE[kind]


REASONS: dict[type[SimulationError], str] = {
    Race: "nothing orders the two",
    MissingWait: "its completion was not waited for",
    MissingFence: "no proxy fence makes this visible to asynchronous operations",
}


def kind_of(
    simt: SimtGroup, buffer: Buffer, touched: Array, who: Who, conflict: Conflict
) -> type[SimulationError]:
    """What is missing between the two accesses."""
    if conflict.other <= AGENTS:
        return MissingWait
    if who.agent is None or conflict.verb != "wrote" or buffer.shadow is None:
        return Race
    entry = np.array([conflict.entry])
    stamp, other = conflict.stamp, np.array([conflict.other])
    seen = simt.clocks.ordered(other, np.array([stamp]), pick(who, entry), generic=True)
    return MissingFence if seen[0] else Race


def other_name(simt: SimtGroup, number: int) -> str:
    """A thread or an asynchronous operation, in words."""
    if number <= AGENTS:
        agent = simt.clocks.agent(number)
        return f"{agent.name} of {thread_name(simt.run, simt.team, agent.thread)}"
    return thread_name(simt.run, simt.team, number)
