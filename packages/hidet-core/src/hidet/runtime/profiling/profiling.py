"""`hidet.profile()`: what the kernels of all calls in a block took, moved and computed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hidet.errors import BadArgument
from hidet.runtime.binding.bound import BoundPlan
from hidet.runtime.devices.stream import Event
from hidet.runtime.plans.kernel_note import KernelNote
from hidet.runtime.plans.plan import Host, Launch, Plan, Step
from hidet.runtime.plans.sizes import evaluate
from hidet.runtime.profiling.files import bars, trace
from hidet.runtime.profiling.nvtx import Range, library, nvtx_range
from hidet.runtime.profiling.profile import recorded
from hidet.runtime.profiling.table import Kernel, Run, kernels, table
from hidet.target import Target


@contextmanager
def profile(ranges: bool | Range = False) -> Iterator[Profiling]:
    """Note each kernel that compiled models run in this block and thread, whatever their frontend:

        with hidet.profile() as p:
            model(x)
        print(p)              # a table
        p.save("trace.json")  # for ui.perfetto.dev; .svg is a bar chart, .txt the table

    On a GPU kernels are launched one by one meanwhile, none overlaps another, and where the GPU
    waits for the host that wait is in their times: `CompiledGraph.profile` has times without it.

    With `ranges=True` each kernel runs within a range of NVTX, which Nsight shows: it names
    operators, schedule and source location. `ranges=torch.profiler.record_function` makes ranges of
    torch.profiler. BadArgument where NVTX is not installed.
    """
    if ranges is True:
        library()  # an error now, not in the first call
    found = Profiling(nvtx_range if ranges is True else ranges or None)
    with recorded(found):
        yield found


@dataclass
class Pending:
    """A run that was noted; on a GPU its times are known once `start` and `end` are reached."""

    made: Callable[[float, float | None], Run]
    device: str
    start: Event | float
    end: Event | float


class Profiling:
    """What ran in a block: `kernels`, the slowest first, and each of their `runs` in order."""

    def __init__(self, ranges: Range | None = None) -> None:
        self.ranges = ranges
        """What opens the range of a step that other profilers show, if any does."""
        self.pending: list[Pending] = []
        self.device, self.stream = "cpu", 0
        self.known: dict[str, tuple[BoundPlan, Step]] = {}
        self.first: dict[str, Event] = {}

    @property
    def runs(self) -> list[Run]:
        """Each run of a kernel, or of a region that the framework runs, in order."""
        return [self.finished(each) for each in self.pending]

    @property
    def kernels(self) -> list[Kernel]:
        """What all runs of each kernel come to, the slowest first."""
        return kernels(self.runs)

    def __str__(self) -> str:
        return table(self.kernels)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file: `.json` for Perfetto or chrome://tracing, `.svg` bars, `.txt` the table."""
        suffix = Path(path).suffix
        if suffix == ".json":
            text = trace(self.runs)
        elif suffix == ".svg":
            text = bars(self.kernels)
        elif suffix == ".txt":
            text = f"{self}\n"
        else:
            raise BadArgument(
                f"a profile cannot be written as {os.fspath(path)}",
                help="use a name that ends in .json, .svg or .txt",
            )
        Path(path).write_text(text, encoding="utf-8")

    def enter(self, bound: BoundPlan, device: str, stream: int) -> None:
        """The steps of this plan may come from now on."""
        self.device, self.stream = device, stream
        for step in bound.steps:
            if isinstance(step, Launch):
                self.known[step.function] = bound, step
            elif isinstance(step, Host):
                self.known[step.key] = bound, step

    def run(self, name: str, step: Callable[[], object]) -> None:
        """Run a step and note it, within a range if there are any."""
        if self.ranges is None:
            self.noted(name, step)
            return
        with self.ranges(self.label(name)):
            self.noted(name, step)

    def noted(self, name: str, step: Callable[[], object]) -> None:
        """Run a step and note it."""
        made = self.described(name)
        if self.device == "cpu":
            start = time.perf_counter()
            step()
            self.pending.append(Pending(made, self.device, start, time.perf_counter()))
            return
        before, after = Event(self.device, timed=True), Event(self.device, timed=True)
        before.record(self.stream)
        step()
        after.record(self.stream)
        self.first.setdefault(self.device, before)
        self.pending.append(Pending(made, self.device, before, after))

    def steps(self) -> list[tuple[str, float | None]]:
        """The steps in order, each with the seconds that it took, if those say anything."""
        return [(each.name, each.seconds) for each in self.runs]

    def label(self, name: str) -> str:
        """What the range of a step is called: operators, schedule and the user's line."""
        bound, _ = self.known.get(name, (None, None))
        note = None if bound is None else note_of(bound.plan, name)
        if note is None:
            return name
        where = f" {note.places[0]}" if note.places else ""
        return f"{' + '.join(note.operators)} [{note.schedule}]{where}"

    def described(self, name: str) -> Callable[[float, float | None], Run]:
        """What makes the run of a step once its start and its seconds are known."""
        device = self.device
        if name not in self.known:
            return lambda start, seconds: Run(name, device, start, seconds)
        bound, step = self.known[name]
        note = note_of(bound.plan, name)
        flops = 0 if note is None else evaluate(note.flops, bound.sizes)
        nbytes = sum(bound.nbytes(number) for number in {*step.reads, *step.writes})
        target = Target.parse(bound.plan.target)
        return lambda start, seconds: Run(
            name, device, start, None if target.simulated else seconds, nbytes, flops, note, target
        )

    def finished(self, each: Pending) -> Run:
        """A run with its times."""
        start, end = each.start, each.end
        if isinstance(start, Event) and isinstance(end, Event):
            end.synchronize()
            return each.made(start.seconds_since(self.first[each.device]), end.seconds_since(start))
        assert isinstance(start, float)
        assert isinstance(end, float)
        return each.made(start, end - start)


def note_of(plan: Plan, name: str) -> KernelNote | None:
    """What is known of a kernel of a plan."""
    return next((each for each in plan.kernels if each.function == name), None)
