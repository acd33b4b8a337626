"""Candidates on their way to archives, several at once, of one group after the other.

While a GPU measures the last candidates of a group, compilers begin with the next one's.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from typing import TypeAlias

from hidet import options
from hidet.build.caching.key import has_only_our_schedules
from hidet.build.choosing.choices import ranked
from hidet.build.measured.attempt import Attempt
from hidet.build.measured.tuning_facts import Subject
from hidet.build.workers.pool import Crew, jobs
from hidet.build.workers.remote import Ended, Team
from hidet.schedules.base import Choice
from hidet.target import Target
from hidet.tuning.contest import Refused

MANY = 2
"""Compilers at once from which on each is a process: Python writes kernels on one core only."""
MOST = 32
"""Compilers beyond which more give a device nothing to do: it measures a candidate in 15 ms."""
AHEAD = 2
"""Candidates that are compiled, or wait to be measured, for each compiler."""

Item: TypeAlias = tuple[int, Choice]
"""A group by its number, and one of its candidates."""


class Compilers:
    """What compiles candidates for a target; `upcoming` are those to begin with when there is
    nothing else to do."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.team = Team() if elsewhere() else None
        self.crew: Crew[Item, bytes] = Crew(self.compiled, at_once())
        self.room = AHEAD * self.crew.count
        self.subjects: list[Subject] = []
        self.numbers: dict[Subject, int] = {}
        self.upcoming: Iterator[tuple[Subject, Choice]] = iter(())
        self.ended = False

    def __enter__(self) -> Compilers:
        self.crew.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:
        """Begin nothing any more; nobody waits for what is still being compiled."""
        if not self.ended:
            self.ended = True
            if self.team is not None:
                self.team.end()
            self.crew.__exit__(KeyboardInterrupt, None, None)

    def number(self, subject: Subject) -> int:
        """The number of a group."""
        if subject not in self.numbers:
            self.numbers[subject] = len(self.subjects)
            self.subjects.append(subject)
        return self.numbers[subject]

    def start(self, number: int, choice: Choice) -> None:
        """Let a compiler take a candidate."""
        self.crew.start((number, choice))

    def fill(self) -> None:
        """Let compilers that have nothing to do begin with what comes next."""
        busy = sum(not each.done() for each in self.crew.futures.values())
        while busy < self.room and (item := next(self.upcoming, None)) is not None:
            subject, choice = item
            place = self.number(subject), choice
            busy += place not in self.crew.futures
            self.crew.start(place)

    def future(self, number: int, choice: Choice) -> Future[bytes]:
        """What becomes of a candidate that was started."""
        return self.crew.futures[number, choice]

    def forget(self, number: int) -> None:
        """A group was measured: what was not begun of it is not compiled."""
        for item in [each for each in self.crew.futures if each[0] == number]:
            self.crew.futures.pop(item).cancel()

    def compiled(self, item: Item) -> bytes:
        """The archive of a group at a candidate; Refused says why there is none."""
        number, choice = item
        subject = self.subjects[number]
        own = ranked(subject.group, self.target)[0].choice
        shape = replace(subject.shape, choice=None if choice == own else choice)
        attempt = Attempt(shape, subject.constants, self.target)
        try:
            here = self.team is None or not shape.is_ours
            found = attempt.answer() if here or self.team is None else self.team.ask(attempt)
        except Ended as end:
            found = f"the process that compiled it ended with status {end.status}"
        if isinstance(found, str):
            raise Refused(found)
        return found


def at_once() -> int:
    """How many candidates are compiled at once."""
    asked, most = options.workers.get(), options.jobs.get() or min(jobs(), MOST)
    return min(asked, most) if asked > 1 else most


def elsewhere() -> bool:
    """Whether candidates are compiled in other processes, if these know their operators: where the
    option or many cores say so, and all schedules are ours."""
    asked = options.workers.get()
    wanted = asked > 1 or (asked == 0 and jobs() >= MANY)
    return wanted and has_only_our_schedules()
