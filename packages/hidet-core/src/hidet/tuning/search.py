"""One search among an operator's candidates: which are measured, and what is known afterwards."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from hidet.schedules.base import Choice
from hidet.tuning.contest import Contest
from hidet.tuning.record import Record, name_of

NOTHING = Record(0, None, ())
KEEP_SECONDS = 5.0
"""How often what is known so far is kept: a process may be killed without warning."""


class Search:
    """What is added to what was known `before`; `found` are the candidates by name, the cheapest
    by the cost model first, and `most` says how many of them count."""

    def __init__(
        self, found: Mapping[str, Choice], before: Record | None, level: int, most: int | None
    ) -> None:
        self.before, self.level = before or NOTHING, level
        names, best = list(found)[:most], self.before.best
        known = {trial.name for trial in self.before.trials if trial.name != best}
        # What the others are compared with is measured again.
        fresh = dict.fromkeys([names[0], *(name for name in found if name == best)])
        fresh |= dict.fromkeys(each for each in names if each not in known)
        self.candidates = [found[each] for each in fresh]
        self.contest: Contest | None = None

    @property
    def record(self) -> Record:
        """What is known now."""
        if self.contest is None:
            return self.before
        trials, best, before = self.contest.trials, self.contest.winner, self.before
        measured = {trial.name for trial in trials}
        winner = None if best is None else name_of(best)
        if before.best is not None and before.best not in measured:
            winner = before.best  # it was ended before it came to that
        older = (each for each in before.trials if each.name not in measured)
        level = self.level if self.contest.complete else before.level
        return Record(level, winner, (*trials, *older))


class Keeper:
    """Keeps what is known now and then, while a search goes on."""

    def __init__(self, keep: Callable[[], None]) -> None:
        self.keep, self.last = keep, time.monotonic()

    def __call__(self) -> None:
        """One more candidate was judged."""
        if time.monotonic() - self.last >= KEEP_SECONDS:
            self.keep()
            self.last = time.monotonic()
