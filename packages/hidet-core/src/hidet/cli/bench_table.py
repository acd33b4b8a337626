"""What was measured of several programs that run a model, as a table with a bar for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

BAR = 20
"""Columns of the longest bar, so that a line fits into 80."""
PARTS = " ▏▎▍▌▋▊▉█"
"""A column in eighths."""


@dataclass
class Measured:
    """What was measured of one program: milliseconds of each call, results, seconds to begin."""

    name: str
    seconds: float
    results: Sequence[Any] = ()
    times: list[float] = field(default_factory=list)

    @property
    def typical(self) -> float:
        """The median of its milliseconds."""
        return median(self.times)


def table(rows: Sequence[Measured], expected: Sequence[Any] | None) -> Iterator[str]:
    """A line for each program; the speed-up is over the first one, and errors are largest
    differences from what is `expected`, in parts of the largest value of that result."""
    slowest = max(each.typical for each in rows)
    yield (
        f"{'':12}  {'median ms':>10}  {'speed-up':>8}  {'error':>8}  {'start s':>7}  "
        "shorter is faster"
    )
    for each in rows:
        error = "" if expected is None else f"{difference(each.results, expected):.1e}"
        yield (
            f"{each.name:12}  {each.typical:10.3f}  {rows[0].typical / each.typical:7.2f}x  "
            f"{error:>8}  {each.seconds:7.1f}  {bar(each.typical / slowest)}"
        )


def bar(part: float) -> str:
    """A bar of a part of the width, to an eighth of a column."""
    whole, rest = divmod(round(max(part, 0.0) * BAR * 8), 8)
    return ("█" * whole + PARTS[rest]).rstrip()


def difference(found: Sequence[Any], expected: Sequence[Any]) -> float:
    """The largest difference, in parts of the largest value of that result."""
    worst = 0.0
    for one, other in zip(found, expected, strict=False):
        wide = np.asarray(one, np.float64)
        scale = max(float(np.abs(other).max(initial=0)), 1e-30)
        worst = max(worst, float(np.abs(wide - other).max(initial=0)) / scale)
    return worst
