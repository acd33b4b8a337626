"""Inputs of a saved graph that do not lie in rows: what their copy takes, beside numpy's and beside
the call that it precedes.

    python -m benchmarks.strides [--seconds S] [--no-network]

On one thread of a CPU; the systems take turns. Times are those of the process at work.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

import hidet
import hidet_torch
from benchmarks.measure.interleaved import Call, interleaved
from benchmarks.measure.machine import headline, machine
from benchmarks.measure.table import table
from benchmarks.networks.mobilenet import MobileNetV2
from hidet import ops
from hidet.build.inputs import CopyWarning
from hidet.options import options
from hidet.runtime.rows import in_rows

ARRAYS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "an image, channels first": ((1, 224, 224, 3), (0, 3, 1, 2)),
    "8 images, channels first": ((8, 224, 224, 3), (0, 3, 1, 2)),
    "features, channels first": ((1, 56, 56, 64), (0, 3, 1, 2)),
    "heads of attention": ((1, 12, 128, 64), (0, 2, 1, 3)),
    "a matrix transposed, 128 x 768": ((128, 768), (1, 0)),
    "a matrix transposed, 1024 x 1024": ((1024, 1024), (1, 0)),
}
"""Shapes as they lie, and the order of axes in which a caller has them."""


def copies(seconds: float) -> Iterator[list[str]]:
    """Microseconds of numpy's copy and of ours, for each kind of array."""
    bring_team()
    for name, (shape, order) in ARRAYS.items():
        given = np.random.default_rng(0).standard_normal(shape, np.float32).transpose(order)
        assert np.array_equal(in_rows(given), given)
        calls: dict[str, Call] = {
            "numpy": lambda given=given: np.ascontiguousarray(given),
            "hidet": lambda given=given: in_rows(given),
        }
        times = interleaved(calls, seconds, least=50)
        yield [name, *(f"{min(each.wall) * 1e3:.0f}" for each in times.values())]


def bring_team() -> None:
    """Compile a graph with a parallel loop: its binaries have what copies."""
    x = hidet.symbol([96, 96], name="x")
    hidet.trace_from(ops.matmul(x, x)).build()(np.ones((96, 96), np.float32))


def network(seconds: float) -> Iterator[list[str]]:
    """Milliseconds of MobileNet-V2 out of a file, on an image in rows and on one as cameras give
    it, seen with channels first; the latter also out of a file that was saved for it."""
    image = np.random.default_rng(0).standard_normal((1, 224, 224, 3), np.float32)
    seen = image.transpose(0, 3, 1, 2)
    rows = np.ascontiguousarray(seen)
    model = MobileNetV2().eval()
    loaded, fitting = reloaded(model, rows), reloaded(model, seen)
    calls: dict[str, Call] = {
        "in rows": lambda: loaded(rows),
        "seen": lambda: loaded(seen),
        "seen, saved for that": lambda: fitting(seen),
    }
    times = interleaved(calls, seconds)
    assert fitting.copied == 0
    for name, each in times.items():
        yield [name, f"{min(each.busy):.2f}"]


def reloaded(model: torch.nn.Module, image: np.ndarray[Any, Any]) -> hidet.CompiledGraph:
    """The model compiled for an image that lies like this one, out of a file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.hidet"
        hidet_torch.compile(model, torch.from_numpy(image)).save(file)
        return hidet.load(file, "cpu")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each row")
    parser.add_argument("--no-network", action="store_true", help="the copies alone")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", CopyWarning)
    print(headline(machine("cpu")))
    with options(threads=1):
        print(table(("array", "numpy us", "hidet us"), list(copies(given.seconds))))
        if not given.no_network:
            print(table(("MobileNet-V2", "ms at work"), list(network(given.seconds))))


if __name__ == "__main__":
    main()
