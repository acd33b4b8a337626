"""Networks on a CPU beside PyTorch, its compiler and ONNX Runtime: `python -m benchmarks.cpu`.

    python -m benchmarks.cpu resnet50 bert_base --beside                # one thread
    python -m benchmarks.cpu --beside --threads 2 --busy 2              # all, on a busy machine
    python -m benchmarks.cpu resnet50 --beside --dtype bfloat16
    python -m benchmarks.cpu bert_base --systems hidet "hidet, open"    # sizes that calls tell
    python -m benchmarks.cpu bert_base --batch 4 --systems hidet "hidet, open"

All systems are in one process, on the same weights and inputs, and take turns call by call. With
one thread times are those that threads are at work, which do not count while other programs have
the core; with more they are of the clock. Caches and memory are shared with others all the same:
the least is beside the median. With `--dtype` weights and inputs are of that type for all; errors
are those against float64 on the same weights.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch.export import Dim, ShapesCollection

import hidet_torch
from benchmarks.exports import Subject, export
from benchmarks.measure.busy import busy_processes
from benchmarks.measure.exported import arrays, exact, results, worst
from benchmarks.measure.interleaved import interleaved
from benchmarks.measure.machine import headline, installed, machine
from benchmarks.measure.systems import empty_caches, inductor
from benchmarks.measure.table import number, table
from benchmarks.published import COMPARED, PUBLISHED, published

Call = Callable[[], Sequence[Any]]
ALLOWED = 4.0
"""How much larger than PyTorch's own the error against float64 may be."""
ROUNDED = 2.0**-21
"""An error that PyTorch is taken to have at least: a single operator may be exact there, and sums
of thousands are in an order of its own."""


DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


class NoKernels(Exception):
    """A system cannot run a network in the type that is asked for."""


@dataclass(frozen=True)
class CpuRow:
    """One system on one network: milliseconds of a call, seconds to compile, error to float64; NaN
    where the system has no kernels for it."""

    network: str
    system: str
    milliseconds: float
    least: float
    compile_seconds: float
    error: float


def eager(made: Subject) -> Call:
    """PyTorch as it is."""
    return lambda: results(made.model(*made.inputs))


def frozen(made: Subject) -> Call:
    """PyTorch's compiler on weights that do not change."""
    torch._dynamo.reset()
    call = inductor(made.model, made.inputs)
    return lambda: results(call())


def onnx_runtime(made: Subject) -> Call:
    """ONNX Runtime, on as many threads as PyTorch; raises NoKernels where it has none."""
    import onnxruntime  # noqa: PLC0415  # only who compares with it needs it

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    # A convolution of bfloat16 is no valid graph to it, of other operators it lacks kernels.
    state = onnxruntime.capi.onnxruntime_pybind11_state
    try:
        session = onnxruntime.InferenceSession(
            export(made), options, providers=["CPUExecutionProvider"]
        )
    except (state.InvalidGraph, state.NotImplemented) as error:
        raise NoKernels(str(error)) from error
    names = [each.name for each in session.get_inputs()]
    feeds = dict(zip(names, arrays(made), strict=True))
    return lambda: session.run(None, feeds)


def spaces(space: int) -> Callable[[Subject], Call]:
    """Hidet at a search space."""

    def prepare(made: Subject) -> Call:
        compiled = hidet_torch.compile(made.model, *made.inputs, search_space=space)
        return lambda: results(compiled(*made.inputs))

    return prepare


def open_sizes(made: Subject) -> Call:
    """Hidet for any batch, and texts of any length: compiled once, for inputs twice as large."""
    shapes, larger = ShapesCollection(), []
    for x in made.inputs:
        axes = range(1 if x.is_floating_point() else x.ndim)
        larger.append(x.repeat([2 if axis in axes else 1 for axis in range(x.ndim)]))
        shapes[larger[-1]] = dict.fromkeys(axes, Dim.DYNAMIC)
    compiled = hidet_torch.compile(made.model, *larger, dynamic_shapes=shapes)
    return lambda: results(compiled(*made.inputs))


SYSTEMS: dict[str, Callable[[Subject], Call]] = {
    "eager": eager,
    "inductor": frozen,
    "ONNX Runtime": onnx_runtime,
    "hidet": spaces(0),
    "hidet, space 1": spaces(1),
    "hidet, space 2": spaces(2),
    "hidet, open": open_sizes,
}
BESIDE = ("eager", "inductor", "ONNX Runtime", "hidet")


def measure(
    network: str,
    systems: Sequence[str],
    seconds: float,
    busy: int = 0,
    dtype: str = "float32",
    batch: int = 1,
) -> list[CpuRow]:
    """A row for each system on a network of `published`, in a type of `DTYPES`."""
    made = repeated(in_type(published(network), DTYPES[dtype]), batch)
    return compared(network, made, systems, seconds, busy)


def repeated(made: Subject, batch: int) -> Subject:
    """The same network with its inputs so many times, one after the other."""
    inputs = tuple(x.repeat(batch, *[1] * (x.ndim - 1)) if batch > 1 else x for x in made.inputs)
    return made._replace(inputs=inputs)


def in_type(made: Subject, dtype: torch.dtype) -> Subject:
    """The same network with its weights and its inputs of floats in a type."""
    inputs = tuple(x.to(dtype) if x.is_floating_point() else x for x in made.inputs)
    return made._replace(model=made.model.to(dtype), inputs=inputs)


def compared(
    name: str, made: Subject, systems: Sequence[str], seconds: float, busy: int = 0
) -> list[CpuRow]:
    """A row for each system; `busy` other processes keep cores busy while they are timed."""
    expected = exact(made)
    calls, compiled, errors = {}, {}, {}
    with torch.no_grad(), empty_caches():
        for system in systems:
            start = time.perf_counter()
            try:
                calls[system] = SYSTEMS[system](made)
            except NoKernels as missing:
                print(f"{name}, {system}: no kernels: {missing}", flush=True)
                continue
            errors[system] = worst(calls[system](), expected)
            compiled[system] = 0.0 if system == "eager" else time.perf_counter() - start
            print(f"{name}, {system}: ready after {compiled[system]:.1f} s", flush=True)
        with busy_processes(busy):
            found = interleaved(calls, seconds, unmeasured=1)
    floor = max(ROUNDED, errors.get("eager", min(errors.values())))
    wrong = [system for system, error in errors.items() if not error <= ALLOWED * floor]
    if wrong:
        raise SystemExit(f"{name}: {', '.join(wrong)} computed something else: {errors}")
    alone = torch.get_num_threads() == 1
    times = {system: each.busy if alone else each.wall for system, each in found.items()}
    return [
        CpuRow(name, s, statistics.median(times[s]), min(times[s]), compiled[s], errors[s])
        if s in times
        else CpuRow(name, s, *(math.nan,) * 4)
        for s in systems
    ]


def cpu_table(rows: Sequence[CpuRow]) -> str:
    """The rows, each with how many times as long it takes as hidet, and as the best other one."""
    by_network: dict[str, dict[str, float]] = {}
    for row in rows:
        times = by_network.setdefault(row.network, {})
        if not math.isnan(row.milliseconds):
            times[row.system] = row.milliseconds
    lines = [
        [
            row.network,
            row.system + " (no kernels)" * math.isnan(row.milliseconds),
            number(row.milliseconds, ".2f"),
            number(row.least, ".2f"),
            number(row.milliseconds / by_network[row.network].get("hidet", math.nan), ".2f", "x"),
            number(row.compile_seconds, ".1f"),
            number(row.error, ".1e"),
        ]
        for row in rows
    ]
    headings = ("network", "system", "ms", "least", "ms / hidet", "compile s", "error")
    return f"{table(headings, lines)}\n\n{verdict(by_network)}"


def verdict(times: dict[str, dict[str, float]]) -> str:
    """The best peer's time over hidet's: of each network, and their geometric mean."""
    ratios = {
        network: min(time for system, time in each.items() if not system.startswith("hidet"))
        / each["hidet"]
        for network, each in times.items()
        if "hidet" in each and any(not system.startswith("hidet") for system in each)
    }
    if not ratios:
        return ""
    mean = statistics.geometric_mean(ratios.values())
    listed = ", ".join(f"{network} {ratio:.2f}" for network, ratio in ratios.items())
    return f"Best peer / hidet: {listed}; geometric mean {mean:.2f}."


def arguments_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("networks", nargs="*", choices=[[], *PUBLISHED], default=[])
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=["eager", "hidet"])
    parser.add_argument("--beside", action="store_true", help=f"the systems {', '.join(BESIDE)}")
    parser.add_argument("--dtype", choices=DTYPES, default="float32")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="busy processes beside")
    parser.add_argument("--seconds", type=float, default=10.0, help="for all systems of a network")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for."""
    asked = arguments_of(arguments)
    systems = BESIDE if asked.beside else asked.systems
    os.environ["OMP_NUM_THREADS"] = str(asked.threads)
    torch.set_num_threads(asked.threads)
    facts = machine("cpu")
    facts |= {name: installed(name) for name in ("onnxruntime", "onnxscript") if asked.beside}
    print(headline(facts))
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(
        f"{asked.dtype}, batch {asked.batch}, {asked.threads} threads, "
        f"{asked.busy} busy processes beside, load average {load}"
    )
    rows: list[CpuRow] = []
    for name in asked.networks or COMPARED:
        rows += measure(name, systems, asked.seconds, asked.busy, asked.dtype, asked.batch)
    print(f"\n{cpu_table(rows)}")
    if asked.json:
        facts |= {"dtype": asked.dtype, "threads": str(asked.threads)}
        facts |= {"busy": str(asked.busy), "batch": str(asked.batch), "load": load}
        asked.json.write_text(
            json.dumps({"machine": facts, "rows": [*map(asdict, rows)]}, indent=1)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
