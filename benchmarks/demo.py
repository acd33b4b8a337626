"""`nox -s demo`: two networks through hidet, beside PyTorch itself and PyTorch's own compiler.

On the GPU if there is one, else on the CPU. Ends with status 1 if hidet failed, was wrong, was not
ready in time, or left an operator to PyTorch. On a busy machine, too, it is over after `--seconds`,
and some for what has begun by then: a compiler that takes longer is stopped, and the table says so.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Sequence

import torch

from benchmarks.measure.busy import busy_processes
from benchmarks.measure.libraries import set_libraries
from benchmarks.measure.machine import default_device, headline, machine
from benchmarks.measure.networks import Row, measure
from benchmarks.measure.systems import usual
from benchmarks.measure.table import network_table

NETWORKS = ("resnet50", "bert_base")
SECONDS = 600.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and say what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for all of it, about")
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="busy processes beside")
    asked = parser.parse_args(arguments)
    warnings.filterwarnings("ignore", category=FutureWarning)  # within torch.export
    set_libraries()
    device = default_device()
    print(f"{headline(machine(device))}\n{load()}, {asked.busy} busy processes beside\n")
    with busy_processes(asked.busy):
        rows = measured(device, time.monotonic() + asked.seconds)
    print(f"\n{network_table(rows)}\n\n{load()} at the end\n\n{LEGEND}")
    problems = failures(rows)
    print(*problems, sep="\n")
    return min(len(problems), 1)


LEGEND = """\
ms: median time of a call, of so many calls; fastest: the quickest one; far apart, the machine was
busy. On a CPU the systems take turns; less than seven calls: the time was up, of which --seconds
gives more.
error: against float64, |out - exact| / |exact|. operators: compiled by hidet; left: to PyTorch.
compile s: from asking to the first result, with empty caches; tracing alone is the part of it
that every backend of torch.compile pays; again s: from full ones, where there was time for it."""


def measured(device: str, end: float) -> list[Row]:
    """The rows of all networks, each with its part of the time that is left."""
    dtype = torch.float16 if device == "cuda" else torch.float32
    rows: list[Row] = []
    for done, name in enumerate(NETWORKS):
        limit = (end - time.monotonic()) / (len(NETWORKS) - done)
        rows += measure(name, usual(device), dtype, device, limit=limit)
    return rows


def load() -> str:
    """How busy the machine is."""
    return f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def failures(rows: Sequence[Row]) -> list[str]:
    """What makes the demo fail: a peer that fails shows in the table alone."""
    own = [row for row in rows if row.system == "hidet"]
    wrong = [f"{row.network}: hidet failed: {row.failure}" for row in own if row.failure]
    return wrong + [
        f"{row.network}: hidet left {row.left} operators to PyTorch" for row in own if row.left
    ]


if __name__ == "__main__":
    sys.exit(main())
