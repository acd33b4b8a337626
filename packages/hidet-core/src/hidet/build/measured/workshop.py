"""Candidates of one group compiled, several at once, and handed to where they are run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from statistics import median

from hidet.build.choosing.choices import chosen
from hidet.build.measured.attempt import alone
from hidet.build.measured.compilers import Compilers
from hidet.build.measured.tuning_facts import Subject
from hidet.build.workers.pool import awaited
from hidet.schedules.base import Choice
from hidet.tuning.problem import problem_of
from hidet.tuning.testbed import Testbed


class Workshop:
    """A bench for a contest. Compilers leave a GPU alone, but not the CPU that is measured.

    What candidates make of constants alone they make before they are measured, as in a network.
    """

    def __init__(
        self, subject: Subject, compilers: Compilers, bed: Testbed, weights: int = 0
    ) -> None:
        self.subject, self.compilers, self.bed = subject, compilers, bed
        self.weights = weights
        """Bytes of all constants of the graph, which decide whether caches hold them."""
        self.number = compilers.number(subject)
        self.numbers: dict[Choice, int] = {}
        self.ahead = compilers.room
        self.noise = 2.0 if compilers.target.kind == "cpu" else 1.0

    def __enter__(self) -> Workshop:
        group, target = self.subject.group, self.compilers.target
        assert group.anchor is not None
        candidate = chosen(group, target)
        work = candidate.point.work(group.anchor.op, target)
        posed = problem_of(group, alone(group), work.flops)
        constants = self.subject.constants
        self.bed.pose(replace(posed, constants=constants, weights=self.weights))
        return self

    def __exit__(self, *error: object) -> None:
        self.compilers.forget(self.number)

    def start(self, choice: Choice) -> None:
        """Let a compiler take a candidate."""
        self.numbers[choice] = len(self.numbers)
        self.compilers.start(self.number, choice)

    def spare(self) -> None:
        """Compilers may go on with other groups: all candidates of this one were started."""
        self.compilers.fill()

    def ready(self, choices: Sequence[Choice], seconds: float | None) -> Choice | None:
        """The first whose compiler is done, after waiting for so long at most."""
        futures = [self.compilers.future(self.number, each) for each in choices]
        awaited(futures, inf if seconds is None else seconds)
        done = (choice for choice, each in zip(choices, futures, strict=True) if each.done())
        return next(done, None)

    def check(self, choice: Choice) -> None:
        """Run it once; Refused says why it cannot be, or computes nonsense."""
        archive = self.compilers.future(self.number, choice).result()
        self.bed.check(self.numbers[choice], archive)

    def time(self, choice: Choice, repeats: int) -> list[float]:
        """Seconds of up to so many runs."""
        return self.bed.time(self.numbers[choice], repeats)

    def typical(self, times: Sequence[float]) -> float:
        """The median; on a CPU the shortest, since what else the machine does only adds to it."""
        return min(times) if self.compilers.target.kind == "cpu" else median(times)
