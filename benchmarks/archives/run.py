"""What `make` wrote, filled in and run: `python -m benchmarks.archives.run FOLDER`.

It fails if a result is further from float64 than four times TensorFlow's own, or TensorFlow was
loaded.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import hidet
from benchmarks.archives.weights import Draw, filled
from benchmarks.measure.columns import number, table
from benchmarks.measure.facts import commit, headline, installed, processor
from hidet.build.arguments import current_stream
from hidet.runtime.devices.timing import median_seconds
from hidet.runtime.plans.archive import Archive
from hidet.runtime.plans.plan import Launch

ALLOWED = 4.0
"""How much larger than TensorFlow's own the error against float64 may be."""


@dataclass(frozen=True)
class Row:
    """One network: milliseconds of a call, seconds to the first result, errors, launches."""

    network: str
    milliseconds: float
    first_seconds: float
    error: float
    tensorflow: float
    kernels: int

    @property
    def is_right(self) -> bool:
        """Whether the result is as near to float64 as it has to be."""
        return self.error <= ALLOWED * self.tensorflow


def run(name: str, folder: Path, device: str | None) -> Row:
    """Load a network on a device of this machine, by default its GPU, compare and time it."""
    facts = json.loads((folder / f"{name}.json").read_text())
    drawn = {
        weight: Draw(each["seed"], tuple(each["shape"]), each["deviation"])
        for weight, each in facts["weights"].items()
    }
    with TemporaryDirectory() as scratch:
        whole = Path(scratch) / f"{name}.hidet"
        filled(Archive.load(folder / f"{name}.hidet"), drawn).save(whole)
        if hashlib.sha256(whole.read_bytes()).hexdigest() != facts["sha256"]:
            raise SystemExit(f"{name}: the weights that were drawn here are others")
        start = time.perf_counter()
        compiled = hidet.load(whole, device)
    with np.load(folder / f"{name}.npz") as data:
        x = hidet.from_numpy(data["x"]).to(device=compiled.device)
        expected = data["expected"]
    found = compiled(x).cpu().numpy()
    first = time.perf_counter() - start
    seconds = median_seconds(
        lambda: compiled.run([x]),
        device=compiled.device,
        stream=0 if compiled.device == "cpu" else current_stream(compiled.device) or 0,
        repeats=50,
    )
    error = float(np.abs(found - expected).max() / np.abs(expected).max())
    kernels = sum(isinstance(step, Launch) for step in compiled.archive.main.steps)
    return Row(name, seconds * 1e3, first, error, facts["tensorflow"], kernels)


def shown(rows: Sequence[Row]) -> str:
    """The rows as a table."""
    headings = ("network", "ms", "kernels", "first result s", "error", "TensorFlow's on a CPU")
    lines = [
        [
            row.network,
            number(row.milliseconds, ".3f"),
            str(row.kernels),
            number(row.first_seconds, ".2f"),
            f"{row.error:.1e}",
            f"{row.tensorflow:.1e}",
        ]
        for row in rows
    ]
    return table(headings, lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every network of a folder; 1 if any is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", help="the GPU unless it is named")
    asked = parser.parse_args(arguments)
    facts = {"commit": commit(), "device": processor(), "numpy": installed("numpy")}
    print(headline(facts))
    names = sorted(path.stem for path in asked.folder.glob("*.json"))
    rows = [run(name, asked.folder, asked.device) for name in names]
    print(shown(rows))
    wrong = [row.network for row in rows if not row.is_right]
    if "tensorflow" in sys.modules:
        raise SystemExit("TensorFlow was loaded")
    print(f"{len(rows)} networks, wrong: {', '.join(wrong) or 'none'}")
    return min(len(wrong) + (not rows), 1)


if __name__ == "__main__":
    sys.exit(main())
