"""The first call of a process that has just started: cold, and when compilers find what they kept.

Each is taken in processes of their own; what Dynamo and AOTAutograd take before a compiler that
does nothing is beside it.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from benchmarks.measure.systems import SYSTEMS, TRACING
from benchmarks.measure.table import number, table
from benchmarks.models import build

RUNS = 3
"""Processes of which the fastest counts; what is cold is so once."""
COLD, AGAIN = "hidet, cold", "hidet, from the cache"
TRACERS = ("torch._dynamo", "torch._functorch.aot_autograd")
"""Loaded ahead of the measured time: every backend needs them."""
STAGES = {
    "hidet_torch.remembered:for_inference": "trace",
    "hidet.frontend.execute:compile_graph": "compile",
    "hidet_torch.remembered:find_graph": "compile",
    "hidet.runtime.executor:load_modules": "binaries",
    "hidet.runtime.executor:Executor.refresh": "derive",
    "hidet.frontend.execute:Executor": "ready",
    "hidet.runtime.segment:Segment.run": "graph",
}
"""The functions whose time is told apart, each without that of others in it."""


@dataclass(frozen=True)
class CompileRow:
    """Seconds from asking for a compiled network to its first result, and what they went into."""

    network: str
    batch: int
    dtype: str
    device: str
    system: str
    seconds: float = math.nan
    beside: float = math.nan
    """What is left without those of tracing alone."""
    processor: float = math.nan
    """Of the main thread: steadier than the clock where other programs run."""
    processor_beside: float = math.nan
    load: float = math.nan
    """Importing hidet's modules."""
    trace: float = math.nan
    """AOTAutograd, and from its graph to hidet's, where a graph is not known."""
    compile: float = math.nan
    """Compiling, or finding what was compiled."""
    binaries: float = math.nan
    """Loading binaries."""
    derive: float = math.nan
    """Computing what is derived from the weights."""
    ready: float = math.nan
    """What else is done before the first call."""
    graph: float = math.nan
    """On a GPU, making the CUDA graph and launching it."""
    failure: str = ""


def measure_compiling(
    name: str, dtype: torch.dtype, device: str, batch: int = 1, runs: int = RUNS
) -> Iterator[CompileRow]:
    """The rows of one network: tracing alone, cold, from the cache."""
    floor = CompileRow(name, batch, str(dtype).removeprefix("torch."), device, TRACING)
    with tempfile.TemporaryDirectory(prefix="hidet-benchmark-", ignore_cleanup_errors=True) as kept:
        for system, count in ((TRACING, runs), (COLD, 1), (AGAIN, runs)):
            row = replace(floor, system=system)
            try:
                row = fastest([told(row, kept) for _ in range(count)])
            except subprocess.CalledProcessError as problem:  # the others still run
                last = (problem.stderr.strip().splitlines() or ["no word"])[-1]
                yield replace(row, failure=f"exit {problem.returncode}: {last}")
                continue
            if system == TRACING:
                floor = row
            yield beside(row, floor)


def fastest(rows: Sequence[CompileRow]) -> CompileRow:
    """The row of the fewest seconds, with the fewest of the processor's that any took."""
    best = min(rows, key=lambda each: each.seconds)
    return replace(best, processor=min(each.processor for each in rows))


def beside(row: CompileRow, floor: CompileRow) -> CompileRow:
    """The row with what it takes more than tracing alone; that itself has nothing beside it."""
    if row.system == TRACING:
        return row
    return replace(
        row,
        beside=row.seconds - floor.seconds,
        processor_beside=row.processor - floor.processor,
    )


def told(row: CompileRow, cache: str) -> CompileRow:
    """The row as a new process tells it, which keeps what it compiles in the folder `cache`."""
    given = (row.network, row.system, row.dtype, row.device, str(row.batch))
    # Installed packages are there as bytecode.
    env = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-m", __name__, *given],
        env=env | {"HIDET_CACHE_DIR": cache},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return replace(row, **found)  # type: ignore[arg-type]


# ---- in that process ---------------------------------------------------------------------------


def first_call(name: str, system: str, dtype: str, device: str, batch: int) -> dict[str, float]:
    """The seconds of the first call in this process, and of its parts."""
    for each in TRACERS:
        import_module(each)
    model, inputs = build(name, getattr(torch, dtype), device, batch)
    ours = system != TRACING
    found: dict[str, float] = {}
    with torch.no_grad():
        model(*inputs)  # PyTorch's own libraries are there
        wait = torch.cuda.synchronize if device == "cuda" else (lambda: None)
        wait()
        start, processor = time.perf_counter(), time.thread_time()
        if ours:
            timed(lambda: import_module("hidet_torch.backend"), "load", found)()
            watch(STAGES, found)
        SYSTEMS["hidet" if ours else TRACING](model, inputs)()
        wait()
    found["processor"] = time.thread_time() - processor
    found["seconds"] = time.perf_counter() - start
    return found


def watch(stages: Mapping[str, str], found: dict[str, float]) -> None:
    """Let the functions in `stages`, as "module:name", add their seconds to `found`."""
    for place, stage in stages.items():
        module, _, name = place.partition(":")
        *owner, attribute = name.split(".")
        home = reduce(getattr, owner, import_module(module))
        setattr(home, attribute, timed(getattr(home, attribute), stage, found))


def timed(function: Callable[..., Any], stage: str, found: dict[str, float]) -> Callable[..., Any]:
    """The function, which adds its seconds to those of a stage, but for those of stages in it."""

    def call(*args: Any, **kwargs: Any) -> Any:
        told, start = sum(found.values()), time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            inside = sum(found.values()) - told
            found[stage] = found.get(stage, 0.0) + time.perf_counter() - start - inside

    return call


# ---- as text -----------------------------------------------------------------------------------


def compile_table(rows: Sequence[CompileRow]) -> str:
    """The rows as text."""
    headings = (
        *("network", "system", "s", "beside tracing s", "CPU s", "beside tracing CPU s"),
        *("import s", "trace s", "compile or find s", "load binaries s", "derive weights s"),
        *("make ready s", "first graph s", "failure"),
    )
    lines = [
        [
            f"{row.network}, {row.dtype}, batch {row.batch}",
            row.system,
            *(number(each, ".2f") for each in (row.seconds, row.beside)),
            *(number(each, ".2f") for each in (row.processor, row.processor_beside)),
            *(number(each, ".2f") for each in (row.load, row.trace, row.compile, row.binaries)),
            *(number(each, ".2f") for each in (row.derive, row.ready, row.graph)),
            row.failure,
        ]
        for row in rows
    ]
    return table(headings, lines)


if __name__ == "__main__":
    print(json.dumps(first_call(*sys.argv[1:5], int(sys.argv[5]))))
