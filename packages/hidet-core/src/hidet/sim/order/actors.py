"""Who acts on memory: threads by their numbers, and asynchronous operations."""

from __future__ import annotations

from dataclasses import dataclass

from hidet.sim.values import Array

GENERIC, ASYNC_SHARED, ASYNC_GLOBAL = 0, 1, 2
"""The spaces of a clock: see `clocks`."""
NOBODY = -1
SEVERAL = -2
"""Whom shadows name instead of a thread."""
RETIRED = -1
"""The channel of an agent whose accesses are all others' now."""
AT_MBARRIER = "mbarrier"
"""What operations complete in that belong to no group."""
AGENTS = -3
"""Numbers from here down are asynchronous operations; `AGENTS - n` is the n-th."""


@dataclass(frozen=True)
class Team:
    """How the numbers of threads are made: block · `threads` + thread in block."""

    threads: int
    warp: int
    first: int
    """The first block that is resident now."""
    cluster: int = 1
    """How many blocks are one cluster."""


@dataclass
class Who:
    """The threads of an access, one entry for each granule touched."""

    thread: Array
    slot: Array
    warp: Array
    site: int
    """The statement, as a number."""
    agent: Agent | None = None
    """The asynchronous operation that accesses on behalf of the threads."""


@dataclass(eq=False)
class Agent:
    """An asynchronous operation: what it had seen when it began, and by what it completes."""

    kind: str
    """In words: "bulk copy", ..."""
    number: int
    """Its writes' number in the shadows; `number - 1` is that of its reads."""
    thread: int
    """Who issued it."""
    site: int
    """Where, as the number of a statement."""
    clock: Array
    """(spaces, actors): what is ordered before it."""
    completes_in: tuple[str, int]
    """Operations of one of these complete in the order in which they began."""
    space: int = ASYNC_SHARED
    """The writes of threads it can see in the memory it accesses now."""
    generic: bool = False
    """Whether it sees, and passes on, whatever its issuer has seen, without a fence of proxies."""

    @property
    def name(self) -> str:
        """Its kind, with an article."""
        return f"{'an' if self.kind[0] in 'aeiou' else 'a'} {self.kind}"


def pick(who: Who, rows: Array) -> Who:
    """Some of the threads."""
    return Who(who.thread[rows], who.slot[rows], who.warp[rows], who.site, who.agent)
