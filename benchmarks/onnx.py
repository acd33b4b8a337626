"""Exported networks: hidet-onnx beside hidet-torch and ONNX Runtime, `python -m benchmarks.onnx`.

    python -m benchmarks.onnx bert "gpt2 with cache"          # on two threads of a CPU
    python -m benchmarks.onnx resnet --device cuda            # hidet alone, by torch tensors
    python -m benchmarks.onnx --files FOLDER                  # files of `benchmarks.exports`

All systems are in one process, on the same weights and inputs, and take turns call by call. A file
that is not there is exported, by the exporter on torch.export or, with `--torchscript`, the old.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

import hidet_onnx
from benchmarks.exports import SUBJECTS, Subject, export, subject
from benchmarks.measure.exported import arrays, exact, from_torch, results, steps, worst
from benchmarks.measure.interleaved import interleaved, summary
from benchmarks.measure.machine import headline, machine
from benchmarks.measure.systems import empty_caches
from benchmarks.measure.table import number, table
from benchmarks.measure.timing import synchronize

Call = Callable[[], Sequence[Any]]
ALLOWED = 4.0
"""How much larger than PyTorch's own the error against float64 may be."""


@dataclass(frozen=True)
class Row:
    """One system on one network: milliseconds, seconds to the first result, error, kernels.

    `busy` are the milliseconds that the process's threads were at work in a call, at least: they do
    not count while other programs have the cores.
    """

    network: str
    system: str
    milliseconds: float
    least: float
    busy: float
    compile_seconds: float
    error: float
    kernels: int | None = None
    on_the_host: int | None = None


@dataclass(frozen=True)
class Ready:
    """What is called, and how many kernels and steps on the host that runs, where it is known."""

    call: Call
    counts: tuple[int | None, int | None] = (None, None)


def by_onnx(made: Subject, data: bytes, device: str) -> Ready:
    """hidet-onnx, on arrays of numpy on a CPU, on torch's tensors elsewhere."""
    model = hidet_onnx.compile(data, device=device)
    given = arrays(made) if device == "cpu" else list(made.inputs)
    model.run(given)
    return Ready(lambda: model.run(given), steps(model.latest().imported.graph))


def by_torch(made: Subject, data: bytes, device: str) -> Ready:
    """hidet-torch."""
    model = from_torch(made)
    return Ready(lambda: results(model(*made.inputs)), steps(model.run.imported.graph))


def eager(made: Subject, data: bytes, device: str) -> Ready:
    """PyTorch as it is."""
    return Ready(lambda: results(made.model(*made.inputs)))


def runtime(made: Subject, data: bytes, device: str) -> Ready:
    """ONNX Runtime on a CPU, on as many threads as PyTorch."""
    import onnxruntime  # noqa: PLC0415  # a GPU machine may be without it

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    feeds = dict(zip(names, arrays(made), strict=True))
    return Ready(lambda: session.run(None, feeds))


SYSTEMS: Mapping[str, Callable[[Subject, bytes, str], Ready]] = {
    "eager": eager,
    "ONNX Runtime": runtime,
    "hidet-torch": by_torch,
    "hidet-onnx": by_onnx,
}


def measure(
    name: str, data: bytes | None, device: str, small: bool, seconds: float, torchscript: bool
) -> list[Row]:
    """A row for each system."""
    made = subject(name, small)
    expected = exact(made)
    data = export(made, dynamo=not torchscript) if data is None else data
    made = made._replace(
        model=made.model.to(device), inputs=tuple(each.to(device) for each in made.inputs)
    )
    wanted = [each for each in SYSTEMS if device == "cpu" or each != "ONNX Runtime"]
    ready, compiled, errors = {}, {}, {}
    with torch.no_grad(), empty_caches():
        for system in wanted:
            start = time.perf_counter()
            ready[system] = SYSTEMS[system](made, data, device)
            found = [torch.as_tensor(each).cpu() for each in ready[system].call()]
            compiled[system] = time.perf_counter() - start
            errors[system] = worst(found, expected)
        calls = {system: each.call for system, each in ready.items()}
        times = interleaved(calls, seconds, wait=partial(synchronize, device))
    wrong = [each for each in wanted if not errors[each] <= ALLOWED * errors["eager"]]
    if wrong:
        raise SystemExit(f"{name}: {', '.join(wrong)} computed something else: {errors}")
    return [
        Row(name, system, *summary(each), compiled[system], errors[system], *ready[system].counts)
        for system, each in times.items()
    ]


def onnx_table(rows: Sequence[Row]) -> str:
    """The rows, and how many times as long as hidet-onnx each system takes."""
    ours = {row.network: row.busy for row in rows if row.system == "hidet-onnx"}
    lines = [
        [
            row.network,
            row.system,
            number(row.milliseconds, ".2f"),
            number(row.least, ".2f"),
            number(row.busy, ".2f"),
            number(row.busy / ours[row.network], ".2f", "x"),
            number(row.compile_seconds, ".1f"),
            f"{row.error:.1e}",
            "" if row.kernels is None else str(row.kernels),
            "" if row.on_the_host is None else str(row.on_the_host),
        ]
        for row in rows
    ]
    headings = (
        *("network", "system", "ms", "least", "at work", "at work / hidet-onnx"),
        *("first result s", "error", "kernels", "host steps"),
    )
    return table(headings, lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", choices=[[], *SUBJECTS], default=[])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--files", type=Path, help="a folder of files NETWORK.onnx")
    parser.add_argument("--torchscript", action="store_true", help="export by the old exporter")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--seconds", type=float, default=10.0, help="for all systems of a network")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, metavar="FILE")
    asked = parser.parse_args(arguments)
    os.environ["OMP_NUM_THREADS"] = str(asked.threads)
    torch.set_num_threads(asked.threads)
    facts = machine(asked.device)
    print(headline(facts))
    rows: list[Row] = []
    for name in asked.networks or SUBJECTS:
        path = None if asked.files is None else asked.files / f"{name}.onnx"
        data = path.read_bytes() if path is not None and path.exists() else None
        rows += measure(name, data, asked.device, asked.small, asked.seconds, asked.torchscript)
        print(f"{name}: done", flush=True)
    print(f"\n{onnx_table(rows)}")
    if asked.json:
        asked.json.write_text(json.dumps({"machine": facts, "rows": [*map(asdict, rows)]}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
