"""How the anchors of a graph's groups are scheduled: as measured here, or as known from before.

What is measured is the whole group, with its prologues and epilogues: they take registers, and a
schedule without a hook for one of them needs further kernels, which have to count.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path

from hidet import options
from hidet.build.schedule import ranked
from hidet.build.target import measurable
from hidet.build.tuning_facts import Subject, device_name, facts_of, subject_of
from hidet.build.workshop import Workshop
from hidet.errors import NoDevice
from hidet.fusion.group import Group
from hidet.graph.tensor import Tensor
from hidet.ops.in_place import updated_tensor
from hidet.schedules.base import Candidate, Choice
from hidet.target import Target
from hidet.tuning import store
from hidet.tuning.contest import Contest
from hidet.tuning.record import Record, name_of
from hidet.tuning.report import Bar, TuningWarning, report_refused
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
        for subject in sorted(alike, key=lambda each: -len(alike[each]) * expected(each, target)):
            choice = tuner.choice(subject)
            for group in alike[subject]:
                group.choice = choice
    return [str(group.choice) for group in groups if group.anchor is not None]


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
        self.unknown = 0

    def __enter__(self) -> Tuner:
        self.stack = ExitStack()
        if self.device is not None:
            lock = Path(store.folder(), f"{self.device.replace(':', '-')}.lock")
            self.bed = self.stack.enter_context(Testbed(self.device, lock))
        return self

    def __exit__(self, *error: object) -> None:
        self.stack.close()
        if self.unknown and error[0] is None:
            why = f"no device here runs {self.target}" if self.device is None else "the time was up"
            warnings.warn(
                f"{self.unknown} operators were not measured: {why}; they are scheduled as the "
                "cost model says, or as was best so far",
                TuningWarning,
                stacklevel=4,
            )

    def choice(self, subject: Subject) -> Choice | None:
        """The best candidate for a group's anchor; None: the cost model's own choice."""
        found = {name_of(each.choice): each.choice for each in candidates_of(subject, self.target)}
        facts = facts_of(subject, self.target)
        record = store.find(facts, self.name)
        if record is not None and record.level >= self.level and fits(record, found):
            return chosen(record, found)
        if len(found) > 1:
            if self.device is None or self.ended or self.late:
                self.unknown += 1
            else:
                record = self.search(subject, found, record)
                if record.trials:
                    store.keep(facts, self.name or "", record)
        return None if record is None else chosen(record, found)

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return self.until is not None and time.monotonic() >= self.until

    def search(self, subject: Subject, found: dict[str, Choice], before: Record | None) -> Record:
        """Measure what is not known yet, and what was best before."""
        names = list(found)[: BEST if self.level == 1 else None]
        old = [] if before is None else [t for t in before.trials if t.name != before.best]
        skipped = {trial.name for trial in old}
        own, *others = (found[each] for each in names)
        fresh = [own, *(each for each in others if name_of(each) not in skipped)]
        if before is not None and before.best in found and found[before.best] not in fresh:
            fresh.append(found[before.best])
        title = subject.group.name
        contest = self.held(subject, fresh, title)
        measured = {trial.name for trial in contest.trials}
        trials = [*contest.trials, *(each for each in old if each.name not in measured)]
        report_refused(title, contest.trials)
        winner = contest.winner
        level = self.level if contest.complete else 0
        return Record(level, None if winner is None else name_of(winner), tuple(trials))

    def held(self, subject: Subject, fresh: Sequence[Choice], title: str) -> Contest:
        """A contest that is over, or was ended; Ctrl-C ends all searches of this compilation."""
        own = candidates_of(subject, self.target)[0].choice
        bar = Bar(title, len(fresh))
        with ExitStack() as stack:
            stack.callback(bar.close)
            workshop = Workshop(subject, own, self.target, self.bed)
            contest = Contest(fresh, workshop, bar, self.until)
            try:
                stack.enter_context(workshop)
                contest.run()
            except KeyboardInterrupt:
                self.ended = True
                warnings.warn(
                    "the search for schedules was interrupted; the best so far are compiled "
                    "(Ctrl-C again ends the compilation)",
                    TuningWarning,
                    stacklevel=6,
                )
            except Exception as error:  # tuning is not needed to compile: what stops it is told
                self.ended = isinstance(error, NoDevice)
                warnings.warn(f"{title} is not tuned: {error}", TuningWarning, stacklevel=6)
        return contest


def fits(record: Record, found: dict[str, Choice]) -> bool:
    """Whether what was best for a size of the same bucket can be built for this one."""
    return record.best is None or record.best in found


def chosen(record: Record, found: dict[str, Choice]) -> Choice | None:
    """The best candidate of a record; None if it is the cost model's own choice, or none fits."""
    own = next(iter(found))
    return None if record.best in (None, own) else found.get(record.best or "")
