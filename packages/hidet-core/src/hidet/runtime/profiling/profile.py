"""Where the time of calls goes: microseconds of each kernel and host step.

What runs steps asks `RECORDER`; `stream_profile.py` has the one for a GPU, `profiling.py` the one
for a block of code, which may call any graphs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Protocol

from hidet.errors import BadArgument

if TYPE_CHECKING:
    from hidet.runtime.binding.bound import BoundPlan


@dataclass(frozen=True)
class Row:
    """A kernel or a host step: how often one call runs it, and the microseconds that takes; None in
    the simulator, whose time says nothing of a GPU's."""

    name: str
    runs: int
    microseconds: float | None


@dataclass(frozen=True)
class Profile:
    """The rows of a call, the longest first, each the median of several calls; prints as a table.

    `total` is the sum of all rows in microseconds: what lies between the steps is not in it.
    """

    rows: tuple[Row, ...]

    @property
    def total(self) -> float:
        """Microseconds of all steps."""
        return sum(row.microseconds or 0.0 for row in self.rows)

    def __str__(self) -> str:
        wide = max((len(row.name) for row in self.rows), default=0)
        lines = [f"{row.name:<{wide}}  {row.runs:>5}{self.part(row)}" for row in self.rows]
        if any(row.microseconds is None for row in self.rows):
            return "\n".join([*lines, f"{sum(row.runs for row in self.rows)} runs in all"])
        return "\n".join([*lines, f"{self.total:.1f} us in all"])

    def part(self, row: Row) -> str:
        """The time of a row and its part of the whole; nothing where no time was measured."""
        if row.microseconds is None:
            return ""
        return f"  {row.microseconds:>10.1f} us  {row.microseconds / max(self.total, 1e-9):>4.0%}"


class Recorder(Protocol):
    """Notes the steps of calls."""

    def enter(self, bound: BoundPlan, device: str, stream: int) -> None:
        """The steps of this plan may come from now on."""

    def run(self, name: str, step: Callable[[], object]) -> None:
        """Run a step and note it."""

    def steps(self) -> list[tuple[str, float | None]]:
        """The steps in order, each with the seconds that it took, if those say anything."""


class OneCall:
    """What notes the steps of one call, whose plan is known."""

    def enter(self, bound: BoundPlan, device: str, stream: int) -> None:
        """Nothing is noted of the plan."""


class HostRecorder(OneCall):
    """The steps of a call on the CPU."""

    def __init__(self) -> None:
        self.noted: list[tuple[str, float | None]] = []

    def run(self, name: str, step: Callable[[], object]) -> None:
        """Run a step and note how long it takes."""
        start = time.perf_counter()
        step()
        self.noted.append((name, time.perf_counter() - start))

    def steps(self) -> list[tuple[str, float | None]]:
        """The steps with their seconds."""
        return self.noted


class CountRecorder(OneCall):
    """The steps of a call in the simulator."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def run(self, name: str, step: Callable[[], object]) -> None:
        """Run a step and note that it ran."""
        step()
        self.names.append(name)

    def steps(self) -> list[tuple[str, float | None]]:
        """The steps without times."""
        return [(name, None) for name in self.names]


RECORDER: ContextVar[Recorder | None] = ContextVar("recorder", default=None)
"""What notes the steps that run in this thread, if anything does."""


@contextmanager
def recorded(recorder: Recorder) -> Iterator[Recorder]:
    """Note the steps that run in this block."""
    token = RECORDER.set(recorder)
    try:
        yield recorder
    finally:
        RECORDER.reset(token)


def run_step(name: str, step: Callable[[], object]) -> None:
    """Run a step, noted if anything does."""
    recorder = RECORDER.get()
    if recorder is None:
        step()
    else:
        recorder.run(name, step)


def entered(bound: BoundPlan, device: str = "cpu", stream: int = 0) -> None:
    """Tell whoever notes steps that those of a plan may come."""
    recorder = RECORDER.get()
    if recorder is not None:
        recorder.enter(bound, device, stream)


def run_steps(names: Sequence[str], calls: Sequence[Callable[[], object]]) -> None:
    """Run steps one after the other; those of no name are control flow, noted by its bodies."""
    recorder = RECORDER.get()
    if recorder is None:
        for call in calls:
            call()
        return
    for name, call in zip(names, calls, strict=True):
        if name:
            recorder.run(name, call)
        else:
            call()


def profile_of(
    run: Callable[[], object],
    repeat: int,
    recorder: Callable[[], Recorder] = HostRecorder,
    warmups: int = 1,
) -> Profile:
    """The profile of calls, each noted by a new `recorder`, after some that do not count."""
    if repeat < 1:
        raise BadArgument(f"repeat={repeat} measures nothing")
    found: list[dict[str, list[float | None]]] = []
    for _ in range(warmups + repeat):
        with recorded(recorder()) as noted:
            run()
        times: dict[str, list[float | None]] = {}
        for name, seconds in noted.steps():
            times.setdefault(name, []).append(seconds)
        found.append(times)
    measured = found[warmups:]
    rows = [Row(name, len(each), typical(name, measured)) for name, each in found[-1].items()]
    return Profile(tuple(sorted(rows, key=lambda row: -(row.microseconds or 0.0))))


def typical(name: str, calls: Sequence[Mapping[str, Sequence[float | None]]]) -> float | None:
    """The median of the microseconds that all runs of a step take in a call."""
    times = [each.get(name, ()) for each in calls]
    if None in times[-1]:
        return None
    return median(sum(filter(None, each)) for each in times) * 1e6
