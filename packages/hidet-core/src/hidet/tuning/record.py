"""What was measured of one operator: data that is kept on disk and goes from machine to machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hidet.schedules.base import Choice
from hidet.schedules.space import to_json


@dataclass(frozen=True)
class Trial:
    """One candidate: its typical time, or why it is never chosen."""

    name: str
    seconds: float | None
    reason: str = ""


@dataclass(frozen=True)
class Record:
    """The trials of an operator, and the best candidate; `level` is the space they cover whole."""

    level: int
    best: str | None
    trials: tuple[Trial, ...]

    def to_json(self) -> dict[str, Any]:
        """The record as JSON-able data."""
        trials = [[json.loads(each.name), each.seconds, each.reason] for each in self.trials]
        best = None if self.best is None else json.loads(self.best)
        return {"level": self.level, "best": best, "trials": trials}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Record:
        """The record that `data` describes; ValueError, KeyError or TypeError if it is none."""
        trials = tuple(
            Trial(canonical(name), None if seconds is None else float(seconds), str(reason))
            for name, seconds, reason in data["trials"]
        )
        best = None if data["best"] is None else canonical(data["best"])
        return Record(int(data["level"]), best, trials)


def name_of(choice: Choice) -> str:
    """A candidate's name in records: its schedule and its point as JSON."""
    return canonical([choice.schedule, to_json(choice.point)])


def canonical(data: Any) -> str:
    """Data as text that is the same for equal data."""
    return json.dumps(data, sort_keys=True)
