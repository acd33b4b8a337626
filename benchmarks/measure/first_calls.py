"""Processes of one first call each, forked from one that has loaded PyTorch and not used it.

`python -m benchmarks.measure.first_calls '{...}'` writes a line of JSON for each to a file.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from benchmarks.measure.systems import SYSTEMS, TRACING
from benchmarks.models import build

OURS = "hidet"
TRACERS = ("torch._dynamo", "torch._functorch.aot_autograd")
"""Loaded ahead of the measured time: every backend needs them."""
STAGES = {
    "hidet_torch.cache.graph_cache:for_inference": "trace",
    "hidet.frontend.running.execute:compile_graph": "compile",
    "hidet_torch.cache.graph_cache:find_graph": "compile",
    "hidet.runtime.executor:load_modules": "binaries",
    "hidet.runtime.executor:Executor.refresh": "derive",
    "hidet.frontend.running.execute:Executor": "ready",
    "hidet.runtime.graphs.segment:Segment.run": "graph",
}
"""The functions whose time is told apart, each without that of others in it."""


@dataclass(frozen=True)
class Asked:
    """What is to be measured: first calls of a network by each system, `runs` processes of each.

    At `end`, by the system's monotonic clock, none begins any more and one that runs is ended.
    """

    network: str
    dtype: str
    device: str
    batch: int
    systems: tuple[str, ...]
    runs: int
    end: float
    report: str
    """The file for what is found."""


def interleaved(systems: Sequence[str], runs: int) -> Iterator[tuple[str, bool]]:
    """The systems in the order in which they run, and whether they have compiled before.

    What ours are compared with has one round before their last, the others if time is left.
    """
    first = [each for each in systems if each in (TRACING, OURS)]
    others = [each for each in systems if each not in first]
    cold = {*systems} - {TRACING}
    for each in (first * (runs - 1), others, first, others * (runs - 1)):
        for system in each:
            if system in cold:
                cold.remove(system)
                yield system, False
            yield system, system != TRACING


def measure(asked: Asked) -> None:
    """Run the processes one after the other until the time is up."""
    longest: dict[tuple[str, bool], float] = {}
    for job in interleaved(asked.systems, asked.runs):
        begin = time.monotonic()
        if begin + longest.get(job, 0.0) < asked.end:
            run(asked, *job)
            longest[job] = max(longest.get(job, 0.0), time.monotonic() - begin)


def run(asked: Asked, system: str, again: bool) -> None:
    """One process, which tells itself what it found; of one that is not done in time is nothing."""
    child = os.fork()
    if child == 0:
        os._exit(in_child(asked, system, again))
    with suppress(ProcessLookupError):
        os.setpgid(child, child)
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() < asked.end:
        time.sleep(0.01)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # also those that it started
    if not ended[0]:
        os.waitpid(child, 0)
    elif ended[1]:
        tell(asked, system, again, {"failure": f"status {ended[1]}"})


def in_child(asked: Asked, system: str, again: bool) -> int:
    """The one first call of this process; its exit status."""
    found: Mapping[str, object]
    try:
        found = first_call(asked, system)
    except BaseException as problem:  # whatever it is, the parent shall not run on as this
        traceback.print_exc()
        found = {"failure": f"{type(problem).__name__}: {problem}"}
    tell(asked, system, again, found)
    return 0


def tell(asked: Asked, system: str, again: bool, found: Mapping[str, object]) -> None:
    """One line for one process."""
    with Path(asked.report).open("a") as file:
        file.write(json.dumps({"system": system, "again": again, **found}) + "\n")


def first_call(asked: Asked, system: str) -> dict[str, float]:
    """The seconds of the first call in this process, and of its parts."""
    device = asked.device
    found: dict[str, float] = {}
    model, inputs = build(
        asked.network, getattr(torch, asked.dtype), device, asked.batch, drawn_on=device
    )
    with torch.no_grad():
        model(*inputs)  # PyTorch's own libraries are there
        wait = torch.cuda.synchronize if device == "cuda" else (lambda: None)
        wait()
        start, processor = time.perf_counter(), time.thread_time()
        if system == OURS:
            timed(lambda: import_module("hidet_torch.backend"), "load", found)()
            watch(STAGES, found)
        SYSTEMS[system](model, inputs)()
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
        report, start = sum(found.values()), time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            inside = sum(found.values()) - report
            found[stage] = found.get(stage, 0.0) + time.perf_counter() - start - inside

    return call


if __name__ == "__main__":
    for each in TRACERS:
        import_module(each)
    measure(Asked(**json.loads(sys.argv[1])))
