"""One search through the groups of a graph: each anchor's schedules measured, or known from before.

What is measured is the whole group, with its prologues and epilogues: they take registers, and a
schedule without a hook for one of them needs further kernels, which have to count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from math import inf
from pathlib import Path

from filelock import FileLock

from hidet import options
from hidet.build.measured.compilers import Compilers
from hidet.build.measured.rounds import Round, candidates_of, prospects_of
from hidet.build.measured.tuning_facts import Subject, device_name, facts_of
from hidet.build.measured.workshop import Workshop
from hidet.errors import NoDevice
from hidet.errors.warning import warn
from hidet.schedules.base import AUTOMATIC, Choice
from hidet.target import Target
from hidet.tuning import store
from hidet.tuning.contest import Contest, Refused
from hidet.tuning.duel import is_past
from hidet.tuning.interrupt import Interruptible
from hidet.tuning.record import Record, Trial, name_of
from hidet.tuning.report import (
    Bar,
    TuningWarning,
    is_broken,
    report_hopeless,
    report_refused,
)
from hidet.tuning.search import Keeper
from hidet.tuning.testbed import Testbed

SEARCH = 0.7
"""What part of the time that tuning may take is for candidates alone; the rest is for whole calls
with the best of them."""
BRIEF = 10.0
"""Seconds for whole calls after Ctrl-C has ended the search."""
RIVALS = 8
"""How many of the fastest candidates of a group are measured among their neighbours: alone a kernel
has other caches, and each of these lineups measures all groups at once."""
CLOSE = 1.1
"""What part of the time of the cost model's choice these may take alone."""


class Tuner:
    """One search through the groups of a graph, on a device or, without one, in the records."""

    def __init__(self, target: Target, device: str | None, weights: int = 0) -> None:
        self.target, self.device, self.level = target, device, options.search_space.get()
        self.weights = weights
        """Bytes of all constants of the graph."""
        limit, now = options.tune_seconds.get(), time.monotonic()
        self.until = now + SEARCH * limit if limit else None
        self.end = now + limit if limit else None
        """When whole calls are no longer measured."""
        self.imported: set[Subject] = set()
        """What was measured elsewhere, and whose best candidate alone was checked here."""
        self.name = None if device is None else device_name(device)
        self.ended = False
        self.unknown: set[Subject] = set()
        self.place = ""
        """Which of how many operators is looked at, for people."""
        self.round = Round(None, self.level)
        self.spaces: dict[Subject, dict[str, Choice]] = {}

    def __enter__(self) -> Tuner:
        self.stack = ExitStack()
        self.interrupts = self.stack.enter_context(Interruptible())
        if self.device is not None:
            self.lock = Path(store.folder(), f"{self.device.replace(':', '-')}.lock")
            self.bed = self.stack.enter_context(Testbed(self.device, self.lock))
            self.compilers = self.stack.enter_context(Compilers(self.target))
        return self

    def __exit__(self, *error: object) -> None:
        self.stack.close()
        if self.unknown and error[0] is None:
            why = f"no device here runs {self.target}" if self.device is None else "the time was up"
            why = "the search was interrupted" if self.interrupts.noted else why
            warn(
                TuningWarning(
                    f"{len(self.unknown)} operators were not measured to the end: {why}; they are "
                    "scheduled as the cost model says, or as was best so far"
                )
            )

    def choice(self, subject: Subject) -> Choice | None:
        """The best candidate for a group's anchor; None: the cost model's own choice."""
        found, facts = self.found(subject), facts_of(subject, self.target)
        record = store.find(facts, self.name)
        if record is not None and record.imported and self.able:
            record = self.verified(subject, found, record)
        if record is not None and record.level >= self.level and fits(record, found):
            return chosen(record, found)
        if self.round.is_open(record, found):
            if not self.able:
                self.unknown.add(subject)
            else:
                record = self.search(subject, found, record)
                if record.trials:
                    store.keep(facts, self.name or "", record)
        return None if record is None else chosen(record, found)

    def promise(self, subject: Subject) -> float:
        """The seconds that this round is expected to save of the group."""
        found, record = self.found(subject), self.record(subject)
        if not self.round.is_open(record, found):
            return 0.0
        prospects = prospects_of(subject, self.target, record, found)
        return prospects.gain(self.round.search(record, found).candidates)

    def look_ahead(self, subjects: Sequence[Subject]) -> None:
        """Say which groups come next."""
        if self.device is not None:
            self.compilers.upcoming = self.upcoming(subjects)

    def upcoming(self, subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Choice]]:
        """The candidates of groups that this round comes to, for compilers that have nothing else
        to do; not where what they do is measured too."""
        for subject in subjects if self.target.kind != "cpu" else ():
            found, record = self.found(subject), self.record(subject)
            known = record is not None and (record.imported or record.level >= self.level)
            if not known and self.round.is_open(record, found):
                yield from ((subject, c) for c in self.round.search(record, found).candidates)

    def found(self, subject: Subject) -> dict[str, Choice]:
        """The candidates for a group's anchor by name, the cheapest by the cost model first."""
        if subject not in self.spaces:
            found = candidates_of(subject, self.target)
            self.spaces[subject] = {name_of(each.choice): each.choice for each in found}
        return self.spaces[subject]

    def record(self, subject: Subject) -> Record | None:
        """What is known of a group."""
        return store.find(facts_of(subject, self.target), self.name)

    def is_complete(self, subject: Subject) -> bool:
        """Whether the search through a group's candidates came to its end."""
        if len(candidates_of(subject, self.target)) < 2:
            return True
        record = self.record(subject)
        return record is not None and record.level >= self.level

    def rivals(self, subject: Subject) -> list[Choice | None]:
        """What whole calls are measured with: the cost model's choice, unless it is wrong, then the
        fastest alone. Of what was measured elsewhere the best alone was checked here."""
        found, record = self.found(subject), self.record(subject)
        if record is None or not found:
            return [None]
        own, best = next(iter(found)), chosen(record, found)
        times = {each.name: each.seconds for each in record.trials if each.seconds is not None}
        if record.trials and own not in times and best is not None:
            return [best]  # the cost model's choice is wrong, or was never run
        names = [record.best or own]
        if subject not in self.imported:
            most = CLOSE * times.get(own, inf)
            names += sorted((each for each in times if times[each] <= most), key=times.__getitem__)
        others = [found[each] for each in dict.fromkeys(names) if each in found and each != own]
        return [None, *others[:RIVALS]]

    @property
    def able(self) -> bool:
        """Whether there is a device, and time, to measure on."""
        ended = self.ended or self.interrupts.noted or is_past(self.until)
        return self.device is not None and not ended

    @property
    def is_late(self) -> bool:
        """Whether there is no time for whole calls either."""
        return is_past(self.end)

    @contextmanager
    def whole_calls(self) -> Iterator[tuple[str, FileLock, float | None]]:
        """A block for whole calls on a device, which one process at a time measures on, and until
        when; Ctrl-C in it is KeyboardInterrupt."""
        assert self.device is not None
        self.compilers.end()
        self.bed.end()  # it has memory of the device
        self.lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not self.interrupts.noted:
            with self.interrupts.waiting():
                yield self.device, FileLock(self.lock), self.end
            return
        brief = time.monotonic() + BRIEF
        yield self.device, FileLock(self.lock), brief if self.end is None else min(brief, self.end)

    def verified(self, subject: Subject, found: dict[str, Choice], record: Record) -> Record | None:
        """A record that was measured elsewhere, if its best candidate computes here what it should.

        None, and a warning, if it does not: then all are measured here.
        """
        best = found.get(record.best or "")
        title = subject.group.name
        reasons: list[str] = []

        def check(bench: Workshop) -> None:
            assert best is not None
            bench.start(best)
            bench.ready([best], None)
            try:
                bench.check(best)
            except Refused as refusal:
                reasons.append(str(refusal))

        if best is not None and not self.held(subject, check, title):
            return record
        if reasons:
            trial = Trial(record.best or "", None, reasons[0])
            report_refused(title, [trial])
            return None
        self.imported.add(subject)
        known = replace(record, imported=False)
        store.keep(facts_of(subject, self.target), self.name or "", known)
        return known

    def search(self, subject: Subject, found: dict[str, Choice], before: Record | None) -> Record:
        """Measure what is not known yet, and what was best before."""
        search = self.round.search(before, found)
        title = subject.group.name
        bar = Bar(f"{self.place}, {title}", len(search.candidates))
        facts = facts_of(subject, self.target)
        keeper = Keeper(lambda: store.keep(facts, self.name or "", search.record))

        def run(bench: Workshop) -> None:
            prospects = prospects_of(subject, self.target, before, found, bench.noise)
            search.contest = Contest(search.candidates, bench, bar, self.until, keeper, prospects)
            search.contest.run()

        try:
            self.held(subject, run, title)
        finally:
            bar.close()
        if search.contest is not None:
            report_refused(title, search.contest.trials)
            report_hopeless(title, search.contest.hopeless, len(search.candidates))
        return search.record

    def workshop(self, subject: Subject) -> Workshop:
        """Where the candidates of a group are compiled and measured."""
        return Workshop(subject, self.compilers, self.bed, self.weights)

    def held(self, subject: Subject, work: Callable[[Workshop], None], title: str) -> bool:
        """Do some work in a workshop; False if it was ended or failed, which is told.

        Ctrl-C ends all searches of this compilation.
        """
        try:
            with self.interrupts.waiting(), self.workshop(subject) as bench:
                work(bench)
            return True
        except KeyboardInterrupt:
            self.ended = True
            warn(
                TuningWarning(
                    "the search for schedules was interrupted; the best so far are compiled "
                    "(Ctrl-C again ends the compilation)"
                )
            )
        except Exception as error:  # tuning is not needed to compile: what stops it is told
            self.ended = isinstance(error, NoDevice)
            warn(TuningWarning(f"{title} is not tuned: {error}"))
        return False


def fits(record: Record, found: dict[str, Choice]) -> bool:
    """Whether what was best for a size of the same bucket can be built for this one."""
    return record.best is None or record.best in found


def chosen(record: Record, found: dict[str, Choice]) -> Choice | None:
    """What to build by a record; None: the cost model's own choice.

    Where nothing was right it is what the cost model likes best of what was not found wrong; the
    automatic schedule where all was.
    """
    if record.best not in found:
        wrong = {each.name for each in record.trials if is_broken(each)}
        left = [name for name in found if name not in wrong]
        best = left[0] if left else None
    else:
        best = record.best
    if best is None:
        return AUTOMATIC
    return None if best == next(iter(found)) else found[best]
