"""Candidates of one group compiled, several at once, and handed to where they are run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from statistics import median

from hidet import options
from hidet.build.caching.key import has_only_our_schedules
from hidet.build.choosing.choices import chosen
from hidet.build.measured.attempt import Attempt, alone
from hidet.build.measured.tuning_facts import Subject
from hidet.build.workers.pool import Crew, awaited, jobs
from hidet.build.workers.remote import Ended, Team
from hidet.schedules.base import Choice
from hidet.target import Target
from hidet.tuning.contest import Refused
from hidet.tuning.problem import problem_of
from hidet.tuning.testbed import Testbed

MANY = 2
"""Compilers at once from which on each is a process: Python writes kernels on one core only."""
MOST = 32
"""Compilers beyond which more give a device nothing to do: it measures a candidate in 15 ms."""
AHEAD = 2
"""Candidates that are compiled, or wait to be measured, for each compiler."""


class Workshop:
    """A bench for a contest. Compilers leave a GPU alone, but not the CPU that is measured.

    What candidates make of constants alone they make before they are measured, as in a network.
    """

    def __init__(
        self, subject: Subject, own: Choice, target: Target, bed: Testbed, weights: int = 0
    ) -> None:
        self.subject, self.own, self.target, self.bed = subject, own, target, bed
        self.weights = weights
        """Bytes of all constants of the graph, which decide whether caches hold them."""
        self.numbers: dict[Choice, int] = {}
        self.team = Team() if elsewhere(subject) else None
        self.crew = Crew(self.compiled, compilers())
        self.ahead = AHEAD * compilers()
        self.noise = 2.0 if target.kind == "cpu" else 1.0

    def __enter__(self) -> Workshop:
        group = self.subject.group
        assert group.anchor is not None
        candidate = chosen(group, self.target)
        work = candidate.point.work(group.anchor.op, self.target)
        posed = problem_of(group, alone(group), work.flops)
        constants = self.subject.constants
        self.bed.pose(replace(posed, constants=constants, weights=self.weights))
        self.crew.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        # Also at a deadline: nobody waits for what is still being compiled.
        if self.team is not None:
            self.team.end()
        self.crew.__exit__(kind or KeyboardInterrupt, *rest)

    def compiled(self, choice: Choice) -> bytes:
        """The archive of the group at a candidate; Refused says why there is none."""
        explicit = None if choice == self.own else choice
        shape = replace(self.subject.shape, choice=explicit)
        attempt = Attempt(shape, self.subject.constants, self.target)
        try:
            found = attempt.answer() if self.team is None else self.team.ask(attempt)
        except Ended as end:
            found = f"the process that compiled it ended with status {end.status}"
        if isinstance(found, str):
            raise Refused(found)
        return found

    def start(self, choice: Choice) -> None:
        """Let a compiler take a candidate."""
        self.numbers[choice] = len(self.numbers)
        self.crew.start(choice)

    def ready(self, choices: Sequence[Choice], seconds: float | None) -> Choice | None:
        """The first whose compiler is done, after waiting for so long at most."""
        futures = [self.crew.futures[each] for each in choices]
        awaited(futures, inf if seconds is None else seconds)
        done = (choice for choice, each in zip(choices, futures, strict=True) if each.done())
        return next(done, None)

    def check(self, choice: Choice) -> None:
        """Run it once; Refused says why it cannot be, or computes nonsense."""
        self.bed.check(self.numbers[choice], self.crew.futures[choice].result())

    def time(self, choice: Choice, repeats: int) -> list[float]:
        """Seconds of up to so many runs."""
        return self.bed.time(self.numbers[choice], repeats)

    def typical(self, times: Sequence[float]) -> float:
        """The median; on a CPU the shortest, since what else the machine does only adds to it."""
        return min(times) if self.target.kind == "cpu" else median(times)


def compilers() -> int:
    """How many candidates are compiled at once."""
    asked, most = options.workers.get(), options.jobs.get() or min(jobs(), MOST)
    return min(asked, most) if asked > 1 else most


def elsewhere(subject: Subject) -> bool:
    """Whether candidates are compiled in other processes: if the option or many cores say so, and
    these know operators and schedules."""
    asked = options.workers.get()
    wanted = asked > 1 or (asked == 0 and jobs() >= MANY)
    return wanted and has_only_our_schedules() and subject.shape.is_ours
