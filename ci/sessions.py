"""How long each nox session took against its budget, and how many tests passed and failed."""

from __future__ import annotations

import atexit
import functools
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPORTS = Path(__file__).parents[1] / ".nox" / "reports"

# Seconds on two cores, shared by the sessions whose names match from the start: what they take and
# up to a fifth more; what plain `nox` runs, 45 minutes in all.
BUDGETS = {
    ("lint", "types", "layers"): 60,
    ("tests(hidet-core)",): 1020,
    ("tests(hidet-core-",): 240,
    ("tests(hidet-torch)",): 540,
    ("tests(hidet-onnx)",): 300,
    ("tests(hidet-tf)",): 300,
    ("wheels",): 120,
    ("docs", "examples"): 120,
    ("demo",): 360,
}


@dataclass(frozen=True)
class Result:
    """One finished session; checks without pytest count as one test."""

    name: str
    seconds: float
    passed: int
    failed: int


RESULTS: list[Result] = []
_junit: list[Path] = []


def timed(function: Callable[..., None]) -> Callable[..., None]:
    """Record how long a session took and how it ended."""

    @functools.wraps(function)
    def run(session: Any, *args: Any, **kwargs: Any) -> None:
        _junit.clear()
        start = time.monotonic()
        ended_well = False
        try:
            function(session, *args, **kwargs)
            ended_well = True
        finally:
            passed, failed = outcome(ended_well, [count(p.read_text()) for p in _existing()])
            seconds = time.monotonic() - start
            RESULTS.append(Result(session.name, seconds, passed, failed))

    return run


def new_junit_path() -> Path:
    """A file for the next run of pytest to report to."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    path = REPORTS / f"{len(RESULTS)}-{len(_junit)}.xml"
    path.unlink(missing_ok=True)
    _junit.append(path)
    return path


def outcome(ended_well: bool, counts: list[tuple[int, int]]) -> tuple[int, int]:
    """Tests passed and failed in a session; one that broke otherwise has one failure."""
    passed, failed = (sum(c[i] for c in counts) for i in (0, 1))
    if not ended_well:
        return passed, max(failed, 1)
    return (passed, failed) if counts else (1, 0)


def count(junit: str) -> tuple[int, int]:
    """Tests passed and failed by pytest's XML report."""
    suites = list(ElementTree.fromstring(junit).iter("testsuite"))
    total, errors, failures, skipped = (
        sum(int(s.get(key, "0")) for s in suites)
        for key in ("tests", "errors", "failures", "skipped")
    )
    return total - errors - failures - skipped, errors + failures


def table(results: list[Result]) -> str:
    """Wall time of each group of sessions beside its budget, then the totals as the last line."""
    lines = [f"{'session':<44}{'seconds':>9}{'budget':>9}"]
    for names, budget in BUDGETS.items():
        group = [r for r in results if r.name.startswith(names)]
        if group:
            lines += [f"  {r.name:<42}{r.seconds:>9.1f}" for r in group if len(group) > 1]
            seconds = sum(r.seconds for r in group)
            label = group[0].name if len(group) == 1 else " + ".join(names) + ", together"
            late = f"   OVER BUDGET by {seconds - budget:.0f} s" if seconds > budget else ""
            lines.append(f"{label:<44}{seconds:>9.1f}{budget:>9}{late}")
    known = tuple(name for names in BUDGETS for name in names)
    others = [r for r in results if not r.name.startswith(known)]
    lines += [f"{r.name:<44}{r.seconds:>9.1f}{'-':>9}" for r in others]
    lines.append(f"{'all':<44}{sum(r.seconds for r in results):>9.1f}")
    lines.append(
        f"{sum(r.passed for r in results)} passed, {sum(r.failed for r in results)} failed"
    )
    return "\n".join(lines)


def report_at_exit() -> None:
    """Print the table once nox is done, if it ran anything."""
    atexit.register(lambda: RESULTS and print("\n" + table(RESULTS), flush=True))


def _existing() -> list[Path]:
    return [path for path in _junit if path.exists()]
