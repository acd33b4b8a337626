"""`nox -s demo`: two networks through hidet, beside PyTorch itself and PyTorch's own compiler.

On the GPU if there is one, else on the CPU. Ends with status 1 if hidet failed, was wrong, or
left an operator to PyTorch.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence

import torch

from benchmarks.measure.libraries import set_libraries
from benchmarks.measure.machine import default_device, headline, machine
from benchmarks.measure.networks import Row, measure
from benchmarks.measure.systems import TRACING, usual
from benchmarks.measure.table import network_table

NETWORKS = ("resnet50", "bert_base")


def main() -> int:
    """Measure, print the table, and say what is wrong."""
    warnings.filterwarnings("ignore", category=FutureWarning)  # within torch.export
    set_libraries()
    device = default_device()
    dtype = torch.float16 if device == "cuda" else torch.float32
    print(f"{headline(machine(device))}\n")
    rows = []
    for name in NETWORKS:
        for row in measure(name, usual(device), dtype, device):
            print(progress(row), flush=True)
            rows.append(row)
    print(f"\n{network_table(rows)}\n\n{LEGEND}")
    problems = failures(rows)
    print(*problems, sep="\n")
    return min(len(problems), 1)


LEGEND = """\
ms: median time of a call; fastest: the quickest one; far apart, the machine was busy.
error: against float64, |out - exact| / |exact|. operators: compiled by hidet; left: to PyTorch.
compile s: from asking to the first result, with empty caches; tracing alone is the part of it
that every backend of torch.compile pays."""


def progress(row: Row) -> str:
    """One line as soon as a system is done."""
    number = row.compile_seconds if row.system == TRACING else row.milliseconds
    unit = "s" if row.system == TRACING else "ms"
    return f"{row.network}: {row.system}: {row.failure or f'{number:.3f} {unit}'}"


def failures(rows: Sequence[Row]) -> list[str]:
    """What makes the demo fail: a peer that fails shows in the table alone."""
    own = [row for row in rows if row.system == "hidet"]
    wrong = [f"{row.network}: hidet failed: {row.failure}" for row in own if row.failure]
    return wrong + [
        f"{row.network}: hidet left {row.left} operators to PyTorch" for row in own if row.left
    ]


if __name__ == "__main__":
    sys.exit(main())
