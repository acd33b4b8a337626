"""PyTorch's operators on about a megabyte each, beside eager, on one thread of a CPU.

    python -m benchmarks.operators_torch                      # all that are compiled: half an hour
    python -m benchmarks.operators_torch "grid_sample|ndtri"  # those whose names match

The calls are PyTorch's own samples (`op_db`), enlarged. Both take turns, each by the time that the
process is at work. What Dynamo takes to find a compiled graph is left out: it is PyTorch's own, and
grows with the arguments that are no tensors, of which samples have many.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.enlarged import Enlarged, enlarged
from benchmarks.measure.in_turns import in_turns
from benchmarks.measure.machine import headline, machine
from benchmarks.measure.table import table
from ci.operator_suite.cases import operators
from ci.operator_suite.known import FILE
from ci.operator_suite.score import DYNAMO
from ci.suites import known
from ci.suites.score import Score
from ci.suites.workers import scores
from hidet_torch.backend import hidet

MOST = 1.2
"""Times eager from which on an operator counts as slower."""
LIMIT = 120
"""Seconds for one operator."""


@dataclass(frozen=True)
class Timed(Score):
    """Microseconds at work of a call by each, and the bytes that it reads."""

    eager: float = math.nan
    hidet: float = math.nan
    nbytes: int = 0

    @property
    def times_eager(self) -> float:
        """How many times as long as in eager PyTorch a call takes."""
        return self.hidet / self.eager


def timed(name: str, seconds: float) -> Timed:
    """The times of an operator, in a process beside others."""
    torch.set_num_threads(1)
    torch._dynamo.reset()
    with warnings.catch_warnings(), torch.no_grad(), torch._dynamo.config.patch(DYNAMO):
        warnings.simplefilter("ignore")
        try:
            call = enlarged(operators()[name])
            found = compared(name, call, seconds)
        except Exception as error:  # one operator's failure is its row
            return Timed(name, f"{type(error).__name__}: {' '.join(str(error).split())}"[:120])
    print(f"{name} {found.eager:.1f} {found.hidet:.1f} us", flush=True)
    return found


def compared(name: str, call: Enlarged, seconds: float) -> Timed:
    """Both in turns, each on tensors of its own."""
    systems = {"eager": call.bound(call.copies()), "hidet": compiled(call)}
    times = in_turns(systems, seconds, least=5)
    least = {system: min(each.busy) * 1e3 for system, each in times.items()}
    return Timed(name, **least, nbytes=call.nbytes)


def compiled(call: Enlarged) -> Callable[[], Any]:
    """The compiled graph of a call on the arguments that Dynamo gives it."""
    given: list[Any] = []

    def backend(graph_module: torch.fx.GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
        made = hidet(graph_module, examples)

        def run(*args: Any) -> Any:
            given[:] = [lambda: made(*args)]
            return made(*args)

        return run

    torch.compile(call, backend=backend, fullgraph=True, dynamic=False)(call.copies())
    (again,) = given
    return again


def summary(rows: Sequence[Timed]) -> str:
    """A line for each operator that is slower, the worst first, and how many are not."""
    compared = [row for row in rows if row.is_right]
    slower = sorted(
        (row for row in compared if row.times_eager > MOST), key=lambda row: -row.times_eager
    )
    lines = [
        [f"`{r.name}`", f"{r.nbytes / 1024:.0f}", *cells(r), f"{r.times_eager:.2f}"] for r in slower
    ]
    heads = ("operator", "KiB", "eager us", "hidet us", "times eager")
    mean = statistics.geometric_mean(row.times_eager for row in compared) if compared else math.nan
    failed = "".join(f"\n- `{row.name}`: {row.reason}" for row in rows if not row.is_right)
    return (
        f"{table(heads, lines)}\n\n{len(compared)} operators, {mean:.2f} times eager in the "
        f"geometric mean; {len(slower)} above {MOST}.\n\nNot measured:\n{failed}"
    )


def cells(row: Timed) -> list[str]:
    """The times as text."""
    return [f"{each:.1f}" for each in (row.eager, row.hidet)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default=".", help="a regular expression of names")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.4, help="for the turns of an operator")
    asked = parser.parse_args(arguments)
    left = [name for kind in known.read(FILE).values() for name in kind]
    names = [each for each in operators() if each not in left and re.search(asked.pattern, each)]
    print(headline(machine("cpu")))
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update({"HIDET_JOBS": "1", "HIDET_WORKERS": "1"})
        os.environ.setdefault("HIDET_CACHE_DIR", folder)
        job = lambda name: timed(name, asked.seconds)  # noqa: E731
        rows = [*scores(names, job, asked.jobs, LIMIT, math.inf)]
    print(f"\n{summary([row if isinstance(row, Timed) else unmeasured(row) for row in rows])}")
    return 0


def unmeasured(score: Score) -> Timed:
    """The row of an operator whose process died or took too long."""
    return Timed(score.name, score.reason)


if __name__ == "__main__":
    sys.exit(main())
