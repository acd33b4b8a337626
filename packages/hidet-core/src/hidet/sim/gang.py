"""A gang: threads at one program point, run as the rows of numpy arrays under a mask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from hidet.errors import Place, SimulationError
from hidet.ir.expr import Var
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Stmt
from hidet.sim.faults import StepLimit
from hidet.sim.memory import Buffer, Pointer
from hidet.sim.races import SEVERAL, Clocks, Team, Who
from hidet.sim.report import Report
from hidet.sim.values import Array, Mask, Value

Waits = Iterator[None]
"""A part of a kernel in execution: yields whenever it can not go on until others have."""


@dataclass
class Run:
    """One launch: what all gangs of it share."""

    kernel: Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    report: Report
    sites: list[Stmt]
    granule: dict[str, int]
    """For each scope, the finest access in bytes."""
    step_limit: int
    steps: int = 0
    ticks: int = 0
    """How often a kernel looked at the clock."""
    progress: int = 0
    """Counts what could let a waiting thread go on."""

    def place(self, site: int) -> Place | None:
        """The place of a statement by its number."""
        return getattr(self.sites[site], "place", None)


@dataclass(eq=False)
class Gang:
    """`count` threads in `blocks` resident blocks; each block padded to whole warps."""

    run: Run
    clocks: Clocks
    team: Team
    blocks: int
    slot: Array
    thread: Array
    """Of each row, the number of the thread in its block."""
    warp: Array
    everyone: Mask
    origin: tuple[Array, ...]
    """For each fork (0: the launch), the row that each row of this gang comes from."""
    env: dict[Var, Value] = field(default_factory=dict)
    builtins: dict[str, Value] = field(default_factory=dict)
    shared: dict[Var, Buffer] = field(default_factory=dict)
    unset: dict[Var, Mask] = field(default_factory=dict)
    """For variables declared without a value: where they still have none."""
    continued: dict[Stmt, Mask] = field(default_factory=dict)
    exited: Mask = field(init=False)
    site: int = 0
    state: dict[str, Any] = field(default_factory=dict)
    """What intrinsics keep between calls, by family."""
    waiting: dict[int, tuple[int, Mask]] = field(default_factory=dict)
    """The statements, as numbers, at which threads wait for others, and these threads."""
    _lanes: dict[int, tuple[Mask, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.exited = np.zeros(self.count, np.bool_)
        self.number = (self.team.first + self.slot) * self.team.threads + self.thread

    @property
    def count(self) -> int:
        """How many rows there are, padding included."""
        return len(self.slot)

    def lanes(self, mask: Mask) -> Any:
        """The rows in the mask, as something to index by: a slice if it is all of them."""
        found = self._lanes.get(id(mask))
        if found is not None and found[0] is mask:
            return found[1]
        lanes = slice(None) if mask.all() else np.flatnonzero(mask)
        if len(self._lanes) > 64:
            self._lanes.clear()
        self._lanes[id(mask)] = (mask, lanes)
        return lanes

    def who(self, lanes: Any, each: int = 1) -> Who:
        """The threads of an access that touches `each` granules per row."""
        parts = (self.number[lanes], self.slot[lanes], self.warp[lanes])
        if each > 1:
            parts = tuple(np.repeat(part, each) for part in parts)  # type: ignore[assignment]
        return Who(*parts, self.site)

    def step(self, mask: Mask, site: int) -> None:
        """Count a turn of the loop at `site`; `StepLimit` when there were too many."""
        self.run.steps += 1
        if self.run.steps > self.run.step_limit:
            self.site = site
            limit = self.run.step_limit
            self.fault(
                StepLimit,
                f"more than {limit} turns of loops were run, the last of this one",
                int(np.argmax(mask)),
                "if the loop ends at all, raise step_limit",
            )

    def count_up(self, what: str, mask: Mask) -> None:
        """Note in the report that the threads in the mask did `what`."""
        self.run.report.executed[what] += int(np.count_nonzero(mask))

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
            if not left.any():
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
            self.fault(SimulationError, "threads of a gang point into different tensors")
        return Pointer(new.buffer, np.where(mask, new.offset, old.offset))


def thread_name(run: Run, team: Team, number: int) -> str:
    """A thread by its number in the launch, in words."""
    if number == SEVERAL:
        return "several threads"
    block, thread = divmod(number, team.threads)
    if run.kernel.kind == "cpu":
        return f"turn {thread} of a parallel loop"
    at = ", ".join(str(i) for i in coordinates(block, run.grid))
    who = ", ".join(str(i) for i in coordinates(thread, run.block))
    return f"block ({at}), thread ({who}), warp {thread // 32}, lane {thread % 32}"


def coordinates(number: Any, extents: tuple[int, int, int]) -> tuple[Any, Any, Any]:
    """The x, y, z of a linear number, or of an array of them; x is fastest."""
    x, y, _ = extents
    return number % x, number // x % y, number // (x * y)
