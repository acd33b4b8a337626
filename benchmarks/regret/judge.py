"""What today's choices take of what was measured."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean
from typing import Any

from benchmarks.measure.table import table
from hidet.build.choosing.choices import choices
from hidet.graph.operator import Op
from hidet.target import Target
from hidet.tuning.record import name_of

WORST = 12
"""Problems that are named."""


@dataclass(frozen=True)
class Regret:
    """What the model chose for a problem, and how many times as long as the best that takes."""

    problem: str
    chosen: str
    best: str
    times: float


def read(path: Path) -> tuple[str, dict[str, dict[str, float]]]:
    """The target, and of each problem the seconds by the names of schedules."""
    first, *lines = path.read_text().splitlines()
    head: dict[str, Any] = json.loads(first)
    rows = [json.loads(line) for line in lines]
    return head["target"], {row["problem"]: dict(row["points"]) for row in rows}


def regrets(
    measured: Mapping[str, Mapping[str, float]], ops: Mapping[str, Op], target: Target
) -> Iterator[Regret]:
    """The regret of each problem that was measured; of what was not measured the best choice that
    was counts."""
    for name, seconds in measured.items():
        if name not in ops or not seconds:
            continue
        ranked = (name_of(each.choice) for each in choices(ops[name], target))
        chosen = next((each for each in ranked if each in seconds), None)
        if chosen is not None:
            best = min(seconds, key=lambda each: seconds[each])
            yield Regret(name, chosen, best, seconds[chosen] / seconds[best])


def report(found: list[Regret]) -> str:
    """The mean, and the worst problems."""
    if not found:
        return "nothing that was measured is among the problems"
    mean, worst = geometric_mean(e.times for e in found), sorted(found, key=lambda e: -e.times)
    rows = [[e.problem, f"{e.times:.2f}", e.chosen, e.best] for e in worst[:WORST]]
    line = (
        f"{len(found)} problems: {mean:.3f} times the best (geomean), {worst[0].times:.2f} at worst"
    )
    return "\n".join([line, table(["problem", "times", "chosen", "best"], rows)])
