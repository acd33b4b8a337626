"""Where the time of calls goes: microseconds of each kernel and host step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Row:
    """A kernel or a host step: how often one call runs it, and the microseconds that takes."""

    name: str
    runs: int
    microseconds: float


@dataclass(frozen=True)
class Profile:
    """The rows of a call, the longest first, each the median of several calls; prints as a table.

    `total` is the sum of all rows in microseconds: what lies between the steps is not in it.
    """

    rows: tuple[Row, ...]

    @property
    def total(self) -> float:
        """Microseconds of all steps."""
        return sum(row.microseconds for row in self.rows)

    def __str__(self) -> str:
        wide = max((len(row.name) for row in self.rows), default=0)
        lines = [
            f"{row.name:<{wide}}  {row.runs:>5}  {row.microseconds:>10.1f} us  "
            f"{row.microseconds / max(self.total, 1e-9):>4.0%}"
            for row in self.rows
        ]
        return "\n".join([*lines, f"{self.total:.1f} us in all"])


class Recorder:
    """What one call ran: for each name how often, and seconds."""

    def __init__(self) -> None:
        self.runs: dict[str, int] = {}
        self.seconds: dict[str, float] = {}

    def run(self, name: str, step: Callable[[], object]) -> None:
        """Run a step and note how long it takes."""
        start = time.perf_counter()
        step()
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
        self.runs[name] = self.runs.get(name, 0) + 1


RECORDER: ContextVar[Recorder | None] = ContextVar("recorder", default=None)
"""What notes the steps that run in this thread, if anything does."""


@contextmanager
def recorded() -> Iterator[Recorder]:
    """Note the steps that run on the CPU in this block."""
    recorder = Recorder()
    token = RECORDER.set(recorder)
    try:
        yield recorder
    finally:
        RECORDER.reset(token)


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


def profile_of(run: Callable[[], object], repeat: int) -> Profile:
    """The profile of calls on the CPU, after one that does not count."""
    run()
    found: list[Mapping[str, float]] = []
    for _ in range(repeat):
        with recorded() as recorder:
            run()
        found.append(recorder.seconds)
    rows = [
        Row(name, runs, median(each.get(name, 0.0) for each in found) * 1e6)
        for name, runs in recorder.runs.items()
    ]
    return Profile(tuple(sorted(rows, key=lambda row: -row.microseconds)))
