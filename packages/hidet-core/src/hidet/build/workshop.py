"""Candidates of one group compiled, in threads, and handed to where they are run."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import wait
from dataclasses import replace
from statistics import median

from hidet import options
from hidet.build.hoist import hoist
from hidet.build.kernels import Recipes, group_of
from hidet.build.planner import Planner
from hidet.build.schedule import chosen
from hidet.build.tuning_facts import Subject
from hidet.build.units import Units
from hidet.build.workers import Crew, jobs
from hidet.errors import HidetError
from hidet.fusion.group import Group
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Tensor
from hidet.runtime.archive import Archive
from hidet.schedules.base import Choice
from hidet.target import Target
from hidet.tuning.contest import Refused
from hidet.tuning.problem import problem_of, symbols_in
from hidet.tuning.testbed import Testbed
from hidet.tuning.verdict import constant_name
from hidet.types import TensorType, boolean


class Workshop:
    """A bench for a contest. Compilers leave a GPU alone, but not the CPU that is measured.

    What candidates make of constants alone they make before they are measured, as in a network.
    """

    def __init__(self, subject: Subject, own: Choice, target: Target, bed: Testbed) -> None:
        self.subject, self.own, self.target, self.bed = subject, own, target, bed
        self.numbers: dict[Choice, int] = {}
        self.recipes = Recipes()
        self.crew = Crew(self.compiled)
        self.ahead = jobs() + 1
        self.noise = 2.0 if target.kind == "cpu" else 1.0

    def __enter__(self) -> Workshop:
        group = self.subject.group
        assert group.anchor is not None
        candidate = chosen(group, self.target)
        work = candidate.point.work(group.anchor.op, self.target)
        posed = problem_of(group, alone(group), work.flops)
        self.bed.pose(replace(posed, constants=self.subject.constants))
        self.crew.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        # Also at a deadline: nobody waits for what is still being compiled.
        self.crew.__exit__(kind or KeyboardInterrupt, *rest)

    def compiled(self, choice: Choice) -> bytes:
        """The archive of the group at a candidate."""
        # What is looked at is what is built in the end, and what is shown is the contest.
        with options.options(dump="", progress=False):
            return self.archive(choice)

    def archive(self, choice: Choice) -> bytes:
        """The same, under the options in force."""
        explicit = None if choice == self.own else choice
        shape = replace(self.subject.shape, choice=explicit)
        group = group_of(shape, dict.fromkeys(self.subject.constants, ()))
        names = {t: constant_name(i) for i, t in enumerate(group.inputs) if t.storage is not None}
        units = Units(self.target, strict=True)
        planner = Planner(alone(group), self.target, units, names)
        planner.run([group], self.recipes)
        binaries, home = units.compile("Compiling a candidate")
        return Archive(hoist({"main": planner.plan(home)}), binaries).to_bytes()

    def start(self, choice: Choice) -> None:
        """Let a compiler take a candidate."""
        self.numbers[choice] = len(self.numbers)
        self.crew.start(choice)

    def ready(self, choice: Choice, seconds: float | None) -> bool:
        """Whether its compiler is done, after waiting for so long at most."""
        return bool(wait([self.crew.futures[choice]], seconds).done)

    def check(self, choice: Choice) -> None:
        """Run it once; Refused says why it cannot be, or computes nonsense."""
        error = self.crew.futures[choice].exception()
        if isinstance(error, HidetError):
            raise Refused(error.message)
        if isinstance(error, Exception):  # a schedule may raise anything: told, and not chosen
            raise Refused(f"{type(error).__name__}: {error}")
        self.bed.check(self.numbers[choice], self.crew.futures[choice].result())

    def time(self, choice: Choice, repeats: int) -> list[float]:
        """Seconds of up to so many runs."""
        return self.bed.time(self.numbers[choice], repeats)

    def typical(self, times: Sequence[float]) -> float:
        """The median; on a CPU the shortest, since what else the machine does only adds to it."""
        return min(times) if self.target.kind == "cpu" else median(times)


def alone(group: Group) -> FlowGraph:
    """A group as a graph; symbols that are no size of an input become sizes of further ones."""
    inputs = [each for each in group.inputs if each.storage is None]
    sizes = [size for each in (*inputs, *group.results) for size in each.shape]
    read = [size for each in inputs for size in each.shape]
    for symbol in dict.fromkeys(var for size in sizes for var in symbols_in(size)):
        if not any(symbol is size for size in read):
            inputs.append(Tensor(TensorType(boolean, (symbol,))))
    return FlowGraph(inputs, group.results, group.name)
