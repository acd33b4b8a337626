"""The rounds of a search through the operators of a graph: how many candidates each looks at.

The likeliest candidates of all operators come before the others of any: a search that is ended
early has given something to all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hidet.build.choosing.choices import ranked
from hidet.build.measured.tuning_facts import Subject
from hidet.schedules.base import Candidate, Choice
from hidet.target import Target
from hidet.tuning.prospects import Prospects
from hidet.tuning.record import Record
from hidet.tuning.search import Search

BEST = 8
"""Candidates of each operator that search space 1 measures, and 2 in its first round."""
WIDER = 4
"""How many times as many the next round looks at."""
ROUNDS = 3
"""Rounds ahead of the one that goes through the whole space."""

Found = Mapping[str, Choice]
"""Candidates by name, the cheapest by the cost model first."""


@dataclass(frozen=True)
class Round:
    """One round: `most` of the candidates of each operator count, all where it is None; the last
    one completes a search of this `level`."""

    most: int | None
    level: int
    last: bool = True

    def is_open(self, record: Record | None, found: Found) -> bool:
        """Whether it has candidates that nobody measured, or has to complete the search."""
        if len(found) < 2:
            return False
        known = set() if record is None else {trial.name for trial in record.trials}
        return self.last or not known.issuperset(list(found)[: self.most])

    def search(self, record: Record | None, found: Found) -> Search:
        """What it measures of an operator."""
        known = 0 if record is None else record.level
        return Search(found, record, self.level if self.last else known, self.most)


def rounds(count: int, level: int) -> list[Round]:
    """The rounds in which so many operators are measured in a search space."""
    if level == 1:
        return [Round(BEST, level)]
    few = range(ROUNDS if count > 1 else 0)
    return [*(Round(BEST * WIDER**each, level, last=False) for each in few), Round(None, level)]


def candidates_of(subject: Subject, target: Target) -> tuple[Candidate, ...]:
    """The candidates for a group's anchor, the cheapest by the cost model first."""
    return ranked(subject.group, target)


def prospects_of(
    subject: Subject, target: Target, record: Record | None, found: Found, noise: float = 1.0
) -> Prospects:
    """What is expected of a group's candidates by the cost model and what was measured of them."""
    estimates = {each.choice: each.seconds for each in candidates_of(subject, target)}
    made = Prospects(estimates, noise)
    for trial in () if record is None else record.trials:
        if trial.seconds is not None and trial.name in found:
            made.measured(found[trial.name], trial.seconds)
    return made
