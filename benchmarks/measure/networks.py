"""One network through several systems: a row for each."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, NamedTuple

import torch

from benchmarks.measure.accuracy import reference, relative_error
from benchmarks.measure.counts import kernels, operators
from benchmarks.measure.first_calls import TRACERS
from benchmarks.measure.interleaved import interleaved
from benchmarks.measure.limit import TimeIsUp, one_thread, time_limit
from benchmarks.measure.systems import (
    SYSTEMS,
    TRACING,
    Inputs,
    empty_caches,
    prepare,
    stop_compiling,
)
from benchmarks.measure.timing import Call, samples
from benchmarks.models import build

ALLOWED = 4.0
"""How much larger than eager's own the error against float64 may be."""
READY = 0.75
"""The part of a limit after which no system becomes ready any more; the rest is for calls."""


@dataclass(frozen=True)
class Row:
    """What one system did with one network; NaN and None: not measured."""

    network: str
    batch: int
    dtype: str
    device: str
    system: str
    milliseconds: float = math.nan
    fastest: float = math.nan
    calls: int | None = None
    """Of so many calls the milliseconds are the median."""
    error: float = math.nan
    compile_seconds: float = 0.0
    cached_seconds: float = 0.0
    """From asking to the first result, once more: compilers find what they kept on disk."""
    kernels: int | None = None
    compiled: int | None = None
    left: int | None = None
    failure: str = ""


class Given(NamedTuple):
    """A network, its inputs, and what it is to give."""

    model: Callable[..., Any]
    inputs: Inputs
    expected: torch.Tensor


def measure(
    name: str,
    systems: Sequence[str],
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    batch: int = 1,
    seconds: float = 0.5,
    limit: float = math.inf,
) -> list[Row]:
    """A row per system, all on the same weights and inputs, each called for `seconds`.

    A system that fails gives a row that says how. A row also fails if its error against float64
    is above ALLOWED times that of eager, where it is asked for. `limit` is in seconds: a system
    that is not ready after READY of it fails, and when it is over no more is measured than one
    call of each system.
    """
    start = time.monotonic()
    with one_thread():
        model, inputs = build(name, dtype, device, batch)
        given = Given(model, inputs, reference(model, inputs))
    rows: list[Row] = []
    calls: dict[str, Call] = {}
    for each in TRACERS:
        import_module(each)
    torch._dynamo.reset()
    with empty_caches(), torch.no_grad():
        for system in systems:
            row = Row(name, batch, str(dtype).removeprefix("torch."), device, system)
            row, call = ready(row, given, start + READY * limit)
            rows.append(row)
            calls |= {} if call is None else {system: call}
        times = timed(calls, device, seconds, start + limit)
        rows = [counted(called(row, times), given, calls) for row in rows]
        rows = [again(row, given, start + limit) for row in rows]
    floor = next((row.error for row in rows if row.system == "eager"), math.nan)
    return [judged(row, floor) for row in rows]


def ready(row: Row, given: Given, end: float) -> tuple[Row, Call | None]:
    """The row of a system with its first call, and the call if there are to be more."""
    compiles = not row.system.startswith("eager")
    left = max(end - time.monotonic(), 0.0)
    try:
        with time_limit(left):
            if compiles:
                call, seconds = prepare(row.system, given.model, given.inputs, reset=False)
            else:
                call, seconds = SYSTEMS[row.system](given.model, given.inputs), 0.0
            error = relative_error(call(), given.expected)
    except TimeIsUp:
        stop_compiling()
        return failed(row, f"not ready after {left:.0f} s"), None
    except Exception as problem:  # reported in the table; the other systems still run
        return failed(row, f"{type(problem).__name__}: {problem}"), None
    report(row, f"ready after {seconds:.1f} s")
    row = replace(row, error=error, compile_seconds=seconds)
    return row, None if row.system == TRACING else call


def failed(row: Row, failure: str) -> Row:
    """The row of a system that will not be called."""
    report(row, failure)
    return replace(row, failure=failure)


def report(row: Row, news: str) -> None:
    """A line as soon as something is known."""
    print(f"{row.network}: {row.system}: {news}", flush=True)


def timed(
    calls: Mapping[str, Call], device: str, seconds: float, end: float
) -> Mapping[str, Sequence[float]]:
    """The milliseconds of each system's calls.

    On a CPU systems take turns, so that what else the machine does meets all. A GPU does nothing
    else, and its caches keep the weights of a system whose calls follow each other.
    """
    if device == "cuda":
        return {system: samples(call, device, seconds=seconds) for system, call in calls.items()}
    most = end - time.monotonic()
    found = interleaved(calls, seconds * len(calls), unmeasured=1, most=most)
    return {system: times.wall for system, times in found.items()}


def called(row: Row, times: Mapping[str, Sequence[float]]) -> Row:
    """The row with its times, if there are any."""
    if row.system not in times:
        return row
    taken = times[row.system]
    median, fastest = statistics.median(taken), min(taken)
    return replace(row, milliseconds=median, fastest=fastest, calls=len(taken))


def counted(row: Row, given: Given, calls: Mapping[str, Call]) -> Row:
    """The row with its kernels on a GPU, and with hidet's operators."""
    if row.system in calls and row.device == "cuda":
        row = replace(row, kernels=kernels(calls[row.system]))
    if row.system in calls and row.system.startswith("hidet"):
        compiled, left = operators(given.model, given.inputs)
        row = replace(row, compiled=compiled, left=left)
    return row


def again(row: Row, given: Given, end: float) -> Row:
    """The row with the seconds of a compiler that finds what it kept, if there is time for it."""
    left = end - time.monotonic()
    if row.failure or row.system.startswith("eager") or left <= 0:
        return row
    try:
        with time_limit(left):
            return replace(row, cached_seconds=prepare(row.system, given.model, given.inputs)[1])
    except TimeIsUp:
        stop_compiling()
        return row


def judged(row: Row, floor: float) -> Row:
    """The row, failed if its numbers are wrong rather than slow."""
    if not row.failure and (math.isnan(row.error) or row.error > ALLOWED * floor):
        return replace(row, failure=f"error {row.error:.1e}, eager's is {floor:.1e}")
    return row
