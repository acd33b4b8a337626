"""What was measured of one operator: data that is kept on disk and goes from machine to machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hidet.schedules.base import Choice
from hidet.schedules.space import to_json

LEVELS = (0, 1, 2)
"""What the option `search_space` may be."""


@dataclass(frozen=True)
class Trial:
    """One candidate: its typical time, or why it is never chosen."""

    name: str
    seconds: float | None
    reason: str = ""


@dataclass(frozen=True)
class Record:
    """The trials of an operator, and the best candidate; `level` is the space they cover whole.

    What came from a file is `imported` until its best candidate was checked here.
    """

    level: int
    best: str | None
    trials: tuple[Trial, ...]
    imported: bool = False

    def to_json(self) -> dict[str, Any]:
        """The record as JSON-able data."""
        trials = [[json.loads(each.name), each.seconds, each.reason] for each in self.trials]
        best = None if self.best is None else json.loads(self.best)
        data = {"level": self.level, "best": best, "trials": trials}
        return data | ({"imported": True} if self.imported else {})

    @staticmethod
    def from_json(data: dict[str, Any]) -> Record:
        """The record that `data` describes; ValueError, KeyError or TypeError if it is none."""
        trials = tuple(
            Trial(canonical(name), None if seconds is None else float(seconds), str(reason))
            for name, seconds, reason in data["trials"]
        )
        best = None if data["best"] is None else canonical(data["best"])
        level = int(data["level"])
        if level not in LEVELS:
            raise ValueError(f"there is no search space {level}")
        if not all(each.seconds is None or each.seconds > 0 for each in trials):
            raise ValueError("a time is not positive")
        return Record(level, best, trials, bool(data.get("imported", False)))


def name_of(choice: Choice) -> str:
    """A candidate's name in records: its schedule and its point, if it has any, as JSON."""
    point = None if choice.point is None else to_json(choice.point)
    return canonical([choice.schedule, point])


def lineup_name(names: Sequence[str | None]) -> str:
    """The name in records of several operators' candidates together; None: the cost model's."""
    return canonical([None if each is None else json.loads(each) for each in names])


def lineup_names(name: str | None) -> list[str | None]:
    """The candidates' names in the name of several together; none if it is no such name."""
    found = [] if name is None else json.loads(name)
    if not isinstance(found, list) or any(isinstance(each, str) for each in found):
        return []
    return [None if each is None else canonical(each) for each in found]


def canonical(data: Any) -> str:
    """Data as text that is the same for equal data."""
    return json.dumps(data, sort_keys=True)
