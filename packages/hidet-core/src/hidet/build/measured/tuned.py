"""How the anchors of a graph's groups are scheduled: as measured here, or as known from before.

What is measured is the whole group, with its prologues and epilogues: they take registers, and a
schedule without a hook for one of them needs further kernels, which have to count.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from hidet import options
from hidet.build.choosing.choices import ranked
from hidet.build.measured.tuning_facts import Subject, device_name, facts_of, subject_of
from hidet.build.measured.workshop import Workshop
from hidet.build.target import measurable
from hidet.errors import NoDevice
from hidet.errors.warning import warn
from hidet.fusion.group import Group
from hidet.graph.tensor import Tensor
from hidet.ops.indexing.in_place import updated_tensor
from hidet.schedules.base import AUTOMATIC, Candidate, Choice
from hidet.target import Target
from hidet.tuning import store
from hidet.tuning.contest import Contest, Refused
from hidet.tuning.interrupt import Interruptible
from hidet.tuning.record import Record, Trial, name_of
from hidet.tuning.report import (
    Bar,
    TuningWarning,
    is_broken,
    report_hopeless,
    report_refused,
)
from hidet.tuning.search import Keeper, Search
from hidet.tuning.testbed import Testbed

BEST = 8
"""Candidates that search space 1 measures."""


def tuned(
    groups: Sequence[Group], target: Target, device: str, derived: Collection[Tensor] = ()
) -> list[str]:
    """Choose how each group's anchor is scheduled; the choices by name, in the groups' order.

    `device` is where the graph's tensors are, `derived` what is computed before the first call.
    Ctrl-C ends the search, not the compilation.
    """
    alike: dict[Subject, list[Group]] = {}
    for group in groups:
        if tunable(group):
            alike.setdefault(subject_of(group, derived), []).append(group)
    with Tuner(target, measurable(target, device)) as tuner:
        # What takes longest comes first: a deadline costs least then.
        order = sorted(alike, key=lambda each: -len(alike[each]) * expected(each, target))
        for tuner.glance in glances(len(order)):
            for number, subject in enumerate(order, 1):
                tuner.place = f"{number} of {len(order)}"
                choice = tuner.choice(subject)
                for group in alike[subject]:
                    group.choice = choice
    return [str(group.choice) for group in groups if group.anchor is not None]


def glances(count: int) -> tuple[bool, ...]:
    """The turns in which so many operators are measured; True: the best few of each alone.

    These come first: a search that is ended early has given something to all.
    """
    return (True, False) if count > 1 and options.search_space.get() == 2 else (False,)


def tunable(group: Group) -> bool:
    """Whether there is anything to choose, and running the group again gives the same again."""
    return group.anchor is not None and all(updated_tensor(t) is None for t in group.results)


def candidates_of(subject: Subject, target: Target) -> tuple[Candidate, ...]:
    """The candidates for a group's anchor, the cheapest by the cost model first."""
    return ranked(subject.group, target)


def expected(subject: Subject, target: Target) -> float:
    """The seconds that the cost model expects of a group's anchor."""
    return candidates_of(subject, target)[0].seconds


class Tuner:
    """One search through the groups of a graph, on a device or, without one, in the records."""

    def __init__(self, target: Target, device: str | None) -> None:
        self.target, self.device, self.level = target, device, options.search_space.get()
        limit = options.tune_seconds.get()
        self.until = time.monotonic() + limit if limit else None
        self.name = None if device is None else device_name(device)
        self.ended = False
        self.unknown: set[Subject] = set()
        self.place = ""
        """Which of how many operators is looked at, for people."""
        self.glance = False
        """Whether the best few are measured now, and the others in another turn."""

    def __enter__(self) -> Tuner:
        self.stack = ExitStack()
        self.interrupts = self.stack.enter_context(Interruptible())
        if self.device is not None:
            lock = Path(store.folder(), f"{self.device.replace(':', '-')}.lock")
            self.bed = self.stack.enter_context(Testbed(self.device, lock))
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
        found = {name_of(each.choice): each.choice for each in candidates_of(subject, self.target)}
        facts = facts_of(subject, self.target)
        record = store.find(facts, self.name)
        if record is not None and record.imported and self.able:
            record = self.verified(subject, found, record)
        if record is not None and record.level >= self.level and fits(record, found):
            return chosen(record, found)
        seen = self.glance and record is not None and record.trials
        if len(found) > 1 and not seen:
            if not self.able:
                self.unknown.add(subject)
            else:
                record = self.search(subject, found, record)
                if record.trials:
                    store.keep(facts, self.name or "", record)
        return None if record is None else chosen(record, found)

    @property
    def able(self) -> bool:
        """Whether there is a device, and time, to measure on."""
        late = self.until is not None and time.monotonic() >= self.until
        return self.device is not None and not (self.ended or self.interrupts.noted or late)

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
        known = replace(record, imported=False)
        store.keep(facts_of(subject, self.target), self.name or "", known)
        return known

    def search(self, subject: Subject, found: dict[str, Choice], before: Record | None) -> Record:
        """Measure what is not known yet, and what was best before."""
        known = 0 if before is None else before.level
        most = BEST if self.glance or self.level == 1 else None
        search = Search(found, before, known if self.glance else self.level, most)
        title = subject.group.name
        bar = Bar(f"{self.place}, {title}", len(search.candidates))
        facts = facts_of(subject, self.target)
        keeper = Keeper(lambda: store.keep(facts, self.name or "", search.record))

        def run(bench: Workshop) -> None:
            search.contest = Contest(
                search.candidates, bench, bar, self.until, keeper, self.estimates(subject)
            )
            search.contest.run()

        try:
            self.held(subject, run, title)
        finally:
            bar.close()
        if search.contest is not None:
            report_refused(title, search.contest.trials)
            report_hopeless(title, search.contest.hopeless, len(search.candidates))
        return search.record

    def estimates(self, subject: Subject) -> dict[Choice, float]:
        """What the cost model expects of the candidates for a group's anchor."""
        return {each.choice: each.seconds for each in candidates_of(subject, self.target)}

    def held(self, subject: Subject, work: Callable[[Workshop], None], title: str) -> bool:
        """Do some work in a workshop; False if it was ended or failed, which is told.

        Ctrl-C ends all searches of this compilation.
        """
        own = candidates_of(subject, self.target)[0].choice
        try:
            with self.interrupts.waiting(), Workshop(subject, own, self.target, self.bed) as bench:
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
