"""Networks on one thread of a CPU, by the time that thread is at work: `python -m benchmarks.cpu`.

Systems take turns call by call, so what else the machine does is about the same for all; times are
those of the thread (CLOCK_THREAD_CPUTIME_ID), which do not count while others have the core. Caches
and memory are shared with others all the same: the least is beside the median.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

import hidet_torch
from benchmarks.measure.accuracy import reference, relative_error
from benchmarks.measure.machine import headline, machine
from benchmarks.measure.networks import ALLOWED
from benchmarks.measure.systems import Inputs, eager, empty_caches, inductor
from benchmarks.measure.table import number, table
from benchmarks.models import NETWORKS, build

Call = Callable[[], Any]


@dataclass(frozen=True)
class CpuRow:
    """One system on one network: milliseconds of a call, seconds to compile, error to float64."""

    network: str
    system: str
    milliseconds: float
    least: float
    compile_seconds: float
    error: float


def spaces(space: int) -> Callable[[Any, Inputs], Call]:
    """Hidet at a search space."""

    def prepare(model: Any, inputs: Inputs) -> Call:
        compiled = hidet_torch.compile(model, *inputs, search_space=space)
        return lambda: compiled(*inputs)

    return prepare


SYSTEMS: dict[str, Callable[[Any, Inputs], Call]] = {
    "eager": eager,
    "inductor": inductor,
    "hidet": spaces(0),
    "hidet, space 1": spaces(1),
    "hidet, space 2": spaces(2),
}


def measure(network: str, systems: Sequence[str], rounds: int) -> list[CpuRow]:
    """A row for each system."""
    model, inputs = build(network, torch.float32, "cpu", 1)
    expected = reference(model, inputs)
    calls, seconds, errors = {}, {}, {}
    with torch.no_grad(), empty_caches():
        for system in systems:
            start = time.perf_counter()
            calls[system] = SYSTEMS[system](model, inputs)
            errors[system] = relative_error(calls[system](), expected)
            seconds[system] = 0.0 if system == "eager" else time.perf_counter() - start
            print(f"{network}, {system}: ready after {seconds[system]:.1f} s", flush=True)
        times: dict[str, list[float]] = {system: [] for system in systems}
        for turn in range(rounds + 2):
            for system, call in calls.items():
                begin = time.thread_time()
                call()
                if turn > 1:  # the first two warm up
                    times[system].append((time.thread_time() - begin) * 1e3)
    floor = errors.get("eager", min(errors.values()))
    wrong = [system for system, error in errors.items() if not error <= ALLOWED * floor]
    if wrong:
        raise SystemExit(f"{network}: {', '.join(wrong)} computed something else")
    return [
        CpuRow(network, s, statistics.median(t), min(t), seconds[s], errors[s])
        for s, t in times.items()
    ]


def cpu_table(rows: Sequence[CpuRow]) -> str:
    """The rows, each with its speed-up over eager."""
    eager_times = {row.network: row.milliseconds for row in rows if row.system == "eager"}
    lines = [
        [
            row.network,
            row.system,
            number(row.milliseconds, ".1f"),
            number(row.least, ".1f"),
            number(eager_times.get(row.network, float("nan")) / row.milliseconds, ".2f", "x"),
            number(row.compile_seconds, ".1f"),
            number(row.error, ".1e"),
        ]
        for row in rows
    ]
    headings = ("network", "system", "ms", "least", "speed-up", "compile s", "error")
    return table(headings, lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="+", choices=NETWORKS)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=["eager", "hidet"])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, metavar="FILE")
    asked = parser.parse_args(arguments)
    if os.environ.get("OMP_NUM_THREADS") != "1":
        parser.error("set OMP_NUM_THREADS=1: the time of one thread is measured")
    torch.set_num_threads(1)
    facts = machine("cpu")
    print(headline(facts))
    rows = [row for name in asked.networks for row in measure(name, asked.systems, asked.rounds)]
    print(f"\n{cpu_table(rows)}")
    if asked.json:
        asked.json.write_text(
            json.dumps({"machine": facts, "rows": [*map(asdict, rows)]}, indent=1)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
