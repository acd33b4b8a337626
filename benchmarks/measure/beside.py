"""Operators beside another system: a row for each, and those that are slower, the worst first."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.measure.columns import table
from benchmarks.measure.interleaved import Call, interleaved
from ci.suites.score import Score
from ci.suites.workers import scores

WANTED = 2**20
"""Bytes that a call should read."""
MOST_RESULTS = 8
"""Times as much as that a call may give."""
MOST = 1.2
"""Times the other system's from which on an operator counts as slower."""
LIMIT = 120
"""Seconds for one operator."""


@dataclass(frozen=True)
class Timed(Score):
    """Microseconds at work of a call by each, and the bytes that it reads."""

    theirs: float = math.nan
    hidet: float = math.nan
    nbytes: int = 0

    @property
    def times(self) -> float:
        """How many times as long as by the other system a call takes."""
        return self.hidet / self.theirs


def distance(nbytes: int) -> float:
    """How far from the bytes wanted these are."""
    return abs(math.log2(max(nbytes, 1) / WANTED))


def compared(name: str, theirs: Call, hidet: Call, nbytes: int, seconds: float) -> Timed:
    """Both in turns."""
    times = interleaved({"theirs": theirs, "hidet": hidet}, seconds, least=5)
    least = {system: min(each.busy) * 1e3 for system, each in times.items()}
    print(f"{name} {least['theirs']:.1f} {least['hidet']:.1f} us", flush=True)
    return Timed(name, **least, nbytes=nbytes)


def failed(name: str, error: Exception) -> Timed:
    """The row of an operator that could not be measured."""
    return Timed(name, f"{type(error).__name__}: {' '.join(str(error).split())}"[:120])


def summary(rows: Sequence[Timed], other: str) -> str:
    """A line for each operator that is slower, the worst first, and how many are not."""
    found = [row for row in rows if row.is_right]
    slower = sorted((row for row in found if row.times > MOST), key=lambda row: -row.times)
    lines = [[f"`{r.name}`", f"{r.nbytes / 1024:.0f}", *cells(r)] for r in slower]
    heads = ("operator", "KiB", f"{other} us", "hidet us", f"times {other}")
    mean = statistics.geometric_mean(row.times for row in found) if found else math.nan
    unknown = "".join(f"\n- `{row.name}`: {row.reason}" for row in rows if not row.is_right)
    return (
        f"{table(heads, lines)}\n\n{len(found)} operators, {mean:.2f} times {other} in the "
        f"geometric mean; {len(slower)} above {MOST}.\n\nNot measured:\n{unknown}"
    )


def cells(row: Timed) -> list[str]:
    """The times as text."""
    return [f"{row.theirs:.1f}", f"{row.hidet:.1f}", f"{row.times:.2f}"]


def program(
    description: str | None,
    names: Sequence[str],
    job: Callable[[str, float], Timed],
    other: str,
    arguments: Sequence[str] | None = None,
) -> str:
    """The summary of the operators among these that the command line asks for."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("pattern", nargs="?", default=".", help="a regular expression of names")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.4, help="for the rounds of an operator")
    parser.add_argument("--all-seconds", type=float, default=math.inf, help="stop after")
    parser.add_argument("--rows", type=Path, help="a file of rows: those in it are not measured")
    asked = parser.parse_args(arguments)
    wanted = [each for each in names if re.search(asked.pattern, each)]
    one: Mapping[str, str] = {"HIDET_JOBS": "1", "HIDET_WORKERS": "1", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(one)
        os.environ.setdefault("HIDET_CACHE_DIR", folder)
        timed = lambda name: job(name, asked.seconds)  # noqa: E731
        known = recorded(asked.rows)
        missing = [name for name in wanted if name not in known]
        for row in measured(missing, timed, asked.jobs, asked.all_seconds):
            known[row.name] = row
            record(asked.rows, row)
    return summary([known[name] for name in wanted if name in known], other)


def measured(
    names: Sequence[str], timed: Callable[[str], Timed], jobs: int, seconds: float
) -> Iterator[Timed]:
    """The rows of operators as they are measured; that of one that died has the reason alone."""
    for row in scores(names, timed, jobs, LIMIT, seconds):
        yield row if isinstance(row, Timed) else Timed(row.name, row.reason)


def recorded(path: Path | None) -> dict[str, Timed]:
    """The rows of a file by name; none where there is no file yet."""
    if path is None or not path.exists():
        return {}
    rows = [Timed(**json.loads(line)) for line in path.read_text().splitlines()]
    return {row.name: row for row in rows}


def record(path: Path | None, row: Timed) -> None:
    """Append a row to a file, so that a later run goes on where this one stops."""
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps(asdict(row)) + "\n")
