"""The first call of a process that has just started: cold, and when compilers find what they kept.

Each is taken in processes of their own; what Dynamo and AOTAutograd take before a compiler that
does nothing is beside it, and another compiler if it is asked for.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median_low
from typing import Any

import torch

from benchmarks.measure.first_calls import Asked
from benchmarks.measure.systems import TRACING
from benchmarks.measure.table import number, table

RUNS = 3
"""Processes of which the median counts; what is cold is so once."""
SECONDS = 60
"""For a network, unless --compile-seconds says otherwise."""
PROCESSES = "benchmarks.measure.first_calls"
COMPARED = (TRACING, "hidet", "inductor")


@dataclass(frozen=True)
class CompileRow:
    """Seconds from asking for a compiled network to its first result, and what they went into."""

    network: str
    batch: int
    dtype: str
    device: str
    system: str
    processes: int = 0
    """The numbers are those of the median one by its seconds, of two the faster."""
    seconds: float = math.nan
    fastest: float = math.nan
    """Far from the median where the machine had other things to do."""
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
    name: str,
    dtype: torch.dtype,
    device: str,
    batch: int = 1,
    *,
    systems: Sequence[str] = COMPARED,
    runs: int = RUNS,
    seconds: float = SECONDS,
) -> Iterator[CompileRow]:
    """The rows of one network: tracing alone, then each system cold and from the cache.

    All is over after `seconds`; the rows tell how many processes there were time for.
    """
    row = CompileRow(name, batch, str(dtype).removeprefix("torch."), device, TRACING)
    groups: dict[tuple[str, bool], list[dict[str, Any]]] = {
        (system, again): [] for system in systems for again in kinds(system)
    }
    for found in reported(row, systems, runs, seconds):
        groups[found.pop("system"), found.pop("again")].append(found)
    rows = [median(replace(row, system=named(*job)), each) for job, each in groups.items()]
    floor = next((each for each in rows if each.system == TRACING), row)
    yield from (beside(each, floor) for each in rows)


def kinds(system: str) -> tuple[bool, ...]:
    """Whether caches may be full: tracing alone has none."""
    return (False,) if system == TRACING else (False, True)


def named(system: str, again: bool) -> str:
    """A system and its caches in words."""
    if system == TRACING:
        return system
    return f"{system}, from the cache" if again else f"{system}, cold"


def reported(
    row: CompileRow, systems: Sequence[str], runs: int, seconds: float
) -> Iterator[dict[str, Any]]:
    """What the processes tell; one word of failure for all if there are none."""
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="hidet-benchmark-", ignore_cleanup_errors=True) as kept:
        words, found = Path(kept, "words"), Path(kept, "found")
        found.touch()
        # Installed packages are there as bytecode; asking for a GPU must not start CUDA.
        env = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}
        env |= {n: str(Path(kept, n)) for n in ("HIDET_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")}
        env["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
        asked = Asked(
            row.network, row.dtype, row.device, row.batch, tuple(systems), runs, end, str(found)
        )  # fmt: skip
        with words.open("w") as file:
            status = subprocess.run(
                [sys.executable, "-m", PROCESSES, json.dumps(asdict(asked))],
                env=env,
                cwd=Path(__file__).parents[2],
                stdout=file,
                stderr=file,
                check=False,
            ).returncode
        yield from map(json.loads, found.read_text().splitlines())
        if status:
            last = (words.read_text().strip().splitlines() or ["no word"])[-1]
            failure = f"exit {status}: {last}"
            for system in systems:
                yield from (
                    {"system": system, "again": again, "failure": failure}
                    for again in kinds(system)
                )


def median(row: CompileRow, found: Sequence[dict[str, Any]]) -> CompileRow:
    """The row of the median process; a failure of any is the row's."""
    failed = [each["failure"] for each in found if "failure" in each]
    if failed or not found:
        return replace(row, failure=failed[0] if failed else "not done in time")
    inner = sorted(found, key=lambda each: float(each["seconds"]))
    row = replace(row, processes=len(found), fastest=inner[0]["seconds"])
    row = replace(row, **inner[(len(found) - 1) // 2])
    return replace(row, processor=median_low(float(each["processor"]) for each in found))


def beside(row: CompileRow, floor: CompileRow) -> CompileRow:
    """The row with what it takes more than tracing alone; that itself has nothing beside it."""
    if row.system == TRACING:
        return row
    return replace(
        row,
        beside=row.seconds - floor.seconds,
        processor_beside=row.processor - floor.processor,
    )


def compile_table(rows: Sequence[CompileRow]) -> str:
    """The rows as text."""
    headings = (
        *("network", "system", "processes", "s", "fastest"),
        *("beside tracing s", "CPU s", "beside tracing CPU s"),
        *("import s", "trace s", "compile or find s", "load binaries s", "derive weights s"),
        *("make ready s", "first graph s", "failure"),
    )
    lines = [
        [
            f"{row.network}, {row.dtype}, batch {row.batch}",
            row.system,
            str(row.processes),
            *(number(each, ".2f") for each in (row.seconds, row.fastest, row.beside)),
            *(number(each, ".2f") for each in (row.processor, row.processor_beside)),
            *(number(each, ".2f") for each in (row.load, row.trace, row.compile, row.binaries)),
            *(number(each, ".2f") for each in (row.derive, row.ready, row.graph)),
            row.failure,
        ]
        for row in rows
    ]
    return table(headings, lines)
