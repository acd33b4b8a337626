"""A SIMT group: threads at one program point, run as the rows of numpy arrays under a mask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any, NoReturn

import numpy as np

from hidet.errors import Place, SimulationError
from hidet.ir.expr import Var
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Stmt
from hidet.sim.faults import StepLimit
from hidet.sim.memory import Buffer, Pointer
from hidet.sim.order.actors import AGENTS, SEVERAL, Agent, Team, Who
from hidet.sim.order.clocks import Clocks
from hidet.sim.order.dependency import Dependency
from hidet.sim.order.handover import Handover
from hidet.sim.report import Report
from hidet.sim.values import Array, Mask, Value, every, some


@dataclass
class Run:
    """One launch: what all SIMT groups of it share."""

    kernel: Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    report: Report
    sites: list[Stmt]
    granule: dict[str, int]
    """For each scope, the finest access in bytes."""
    step_limit: int
    cluster: tuple[int, int, int] = (1, 1, 1)
    steps: int = 0
    ticks: int = 0
    """How often a kernel looked at the clock."""
    progress: int = 0
    """Counts what could let a waiting thread go on."""
    iterations: int = 0
    """Counts iterations of loops that changed something."""
    dependency: Dependency = field(default_factory=Dependency)
    handover: Handover = field(default_factory=Handover)
    waits: list[Wait] = field(default_factory=list)
    """Who waits now."""

    def again(self) -> None:
        """The launch begins anew."""
        self.steps = self.ticks = self.progress = self.iterations = 0
        self.dependency, self.handover = Dependency(), Handover()
        self.waits.clear()

    def place(self, site: int) -> Place | None:
        """The place of a statement by its number."""
        return getattr(self.sites[site], "place", None)


@dataclass(eq=False)
class Wait:
    """Threads that can not go on."""

    simt: SimtGroup
    mask: Mask
    site: int
    what: Callable[[], str]
    """What they wait for, in words."""


@dataclass(eq=False)
class Residents:
    """The blocks that are alive at one time: what all SIMT groups with threads of theirs share."""

    blocks: int = 1
    shared: dict[Var, Buffer] = field(default_factory=dict)
    mbarriers: dict[tuple[int, int], Any] = field(default_factory=dict)
    """By buffer and position."""
    state: dict[str, Any] = field(default_factory=dict)
    """What barriers and groups of blocks keep between calls, by family."""
    simt_groups: list[SimtGroup] = field(default_factory=list)


@dataclass(eq=False)
class SimtGroup:
    """`count` threads of resident blocks: of each block all, padded to whole warps, or some warps.

    The threads of a SIMT group wait for each other where their ways join again.
    """

    run: Run
    clocks: Clocks
    team: Team
    residents: Residents
    slot: Array
    thread: Array
    """Of each row, the number of the thread in its block."""
    warp: Array
    everyone: Mask
    origin: tuple[Array, ...]
    """For each fork (0: the launch), the row that each row of this SIMT group comes from."""
    env: dict[Var, Value] = field(default_factory=dict)
    builtins: dict[str, Value] = field(default_factory=dict)
    unset: dict[Var, Mask] = field(default_factory=dict)
    """For variables declared without a value: where they still have none."""
    continued: dict[Stmt, Mask] = field(default_factory=dict)
    exited: Mask = field(init=False)
    passed: Array = field(init=False)
    """Of each row, the last wait for an mbarrier that it went through; -1: none."""
    site: int = 0
    still: bool = False
    """Whether a loop of it iterates without any change."""
    looked: Callable[[], str] | None = None
    """What the last test of an mbarrier found incomplete, in words."""
    state: dict[str, Any] = field(default_factory=dict)
    """What intrinsics keep for this SIMT group's own rows between calls, by family."""
    _lanes: dict[int, tuple[Mask, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.exited = np.zeros(self.count, np.bool_)
        self.passed = np.full(self.count, -1, np.int32)
        self.number = (self.team.first + self.slot) * self.team.threads + self.thread

    @property
    def blocks(self) -> int:
        """How many blocks are resident."""
        return self.residents.blocks

    @property
    def shared(self) -> dict[Var, Buffer]:
        """The shared arrays of all resident blocks."""
        return self.residents.shared

    @property
    def mbarriers(self) -> dict[tuple[int, int], Any]:
        """Those of all resident blocks, by buffer and position."""
        return self.residents.mbarriers

    @property
    def count(self) -> int:
        """How many rows there are, padding included."""
        return len(self.slot)

    def lanes(self, mask: Mask) -> Any:
        """The rows in the mask, as something to index by: a slice if it is all of them."""
        found = self._lanes.get(id(mask))
        if found is not None and found[0] is mask:
            return found[1]
        lanes = slice(None) if every(mask) else np.flatnonzero(mask)
        if len(self._lanes) > 64:
            self._lanes.clear()
        self._lanes[id(mask)] = (mask, lanes)
        return lanes

    def who(self, lanes: Any, each: int = 1, agent: Agent | None = None) -> Who:
        """The threads of an access that touches `each` granules per row."""
        parts = (self.number[lanes], self.slot[lanes], self.warp[lanes])
        if each > 1:
            parts = tuple(np.repeat(part, each) for part in parts)  # type: ignore[assignment]
        return Who(*parts, self.site, agent)

    def actors(self, mask: Mask) -> tuple[Array, Array, Array]:
        """Those who synchronise, as actors of the clocks: whole warps, and else single threads.

        Their blocks, their numbers, and a row of each.
        """
        lanes, missing = mask.reshape(-1, 32), (self.everyone & ~mask).reshape(-1, 32)
        some, torn = lanes.any(axis=1), missing.any(axis=1)
        whole = np.flatnonzero(some & ~torn) * 32
        single = np.flatnonzero(mask & np.repeat(torn, 32))
        rows = np.concatenate([whole, single])
        numbers = [
            *self.clocks.warp_actor(self.slot[whole], self.warp[whole]),
            *(self.clocks.lane_actor(int(self.thread[r]), int(self.slot[r])) for r in single),
        ]
        return self.slot[rows], np.array(numbers, np.int64), rows

    @contextmanager
    def waiting(self, mask: Mask, what: Callable[[], str]) -> Iterator[None]:
        """Around the time in which the threads of the mask wait; the mask may shrink."""
        wait = Wait(self, mask, self.site, what)
        self.run.waits.append(wait)
        yield
        self.run.waits.remove(wait)
        self.run.progress += 1

    def step(self, mask: Mask, site: int) -> None:
        """Count an iteration of the loop at `site`; `StepLimit` when there were too many."""
        self.run.steps += 1
        if self.run.steps > self.run.step_limit:
            self.site = site
            limit = self.run.step_limit
            self.fault(
                StepLimit,
                f"more than {limit} iterations of loops were run, the last of this one",
                int(np.argmax(mask)),
                "see why the loop does not end, or give launch() a larger step_limit",
            )

    def count_up(self, what: str, mask: Mask) -> None:
        """Note in the report that the threads in the mask did `what`."""
        self.run.report.executed[what] += int(np.count_nonzero(mask))

    def last_wait(self, row: int) -> str | None:
        """Advice for who did not wait for the right thing: where a thread last waited."""
        place = self.run.place(int(self.passed[row])) if self.passed[row] >= 0 else None
        if place is None:
            return None
        return (
            f"the thread's last wait for an mbarrier, at {place}, went through: see whether its "
            "barrier and its parity are right"
        )

    def name(self, row: int) -> str:
        """A thread, in words."""
        return thread_name(self.run, self.team, int(self.number[row]))

    def fault(
        self,
        kind: type[SimulationError],
        message: str,
        row: int | None = None,
        help: str | None = None,
    ) -> NoReturn:
        """Raise `kind` at the statement that is being executed."""
        by = "" if row is None else f" ({self.name(row)})"
        raise kind(
            f"kernel {self.run.kernel.name}: {message}{by}",
            place=self.run.place(self.site),
            help=help,
        )

    def assign(self, var: Var, value: Value, mask: Mask, choose: Callable[..., Value]) -> None:
        """Give `var` a new value where the mask is set."""
        if var in self.unset:
            left = self.unset[var] & ~mask
            self.unset[var] = left
            if not some(left):
                del self.unset[var]
        full = mask is self.everyone
        if full or var not in self.env:
            self.env[var] = value
        elif isinstance(value, Pointer):
            self.env[var] = self.pointed(self.env[var], value, mask)
        else:
            self.env[var] = choose(mask, value, self.env[var])

    def pointed(self, old: Pointer, new: Pointer, mask: Mask) -> Pointer:
        """`new` where the mask is set, else `old`; both must point into one buffer."""
        if old.buffer is not new.buffer:
            if not (self.everyone & ~self.exited & ~mask).any():
                return new
            self.fault(SimulationError, "threads of a simt point into different tensors")
        block = None
        if old.block is not None or new.block is not None:
            own = self.slot % self.team.cluster
            parts = (own if each.block is None else each.block for each in (new, old))
            block = np.where(mask, *parts)
        return Pointer(new.buffer, np.where(mask, new.offset, old.offset), block)


def thread_name(run: Run, team: Team, number: int) -> str:
    """A thread by its number in the launch, in words."""
    if number == SEVERAL:
        return "several threads"
    if number <= AGENTS:
        return "an asynchronous operation"
    block, thread = divmod(number, team.threads)
    if run.kernel.kind == "cpu":
        return f"iteration {thread} of a parallel loop"
    at = ", ".join(str(i) for i in block_index(run, block))
    who = ", ".join(str(i) for i in coordinates(thread, run.block))
    return f"block ({at}), thread ({who}), warp {thread // 32}, lane {thread % 32}"


def block_index(run: Run, number: Any) -> tuple[Any, Any, Any]:
    """The blockIdx of a block by its number; those of a cluster have numbers in a row."""
    cluster, inside = divmod(number, prod(run.cluster))
    shape = tuple(n // c for n, c in zip(run.grid, run.cluster, strict=True))
    first, own = coordinates(cluster, shape), coordinates(inside, run.cluster)  # type: ignore[arg-type]
    x, y, z = (f * c + o for f, c, o in zip(first, run.cluster, own, strict=True))
    return x, y, z


def coordinates(number: Any, extents: tuple[int, int, int]) -> tuple[Any, Any, Any]:
    """The x, y, z of a linear number, or of an array of them; x is fastest."""
    x, y, _ = extents
    return number % x, number // x % y, number // (x * y)
