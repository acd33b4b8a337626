"""One network through several systems: a row for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from benchmarks.measure.accuracy import reference, relative_error
from benchmarks.measure.counts import kernels, operators
from benchmarks.measure.systems import TRACING, Inputs, empty_caches, prepare
from benchmarks.measure.timing import milliseconds
from benchmarks.models import build

ALLOWED = 4.0
"""How much larger than eager's own the error against float64 may be."""


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
    error: float = math.nan
    compile_seconds: float = 0.0
    cached_seconds: float = 0.0
    """From asking to the first result, once more: compilers find what they kept on disk."""
    kernels: int | None = None
    compiled: int | None = None
    left: int | None = None
    failure: str = ""


def measure(
    name: str,
    systems: Sequence[str],
    dtype: torch.dtype = torch.float32,
    device: str = "cpu",
    batch: int = 1,
    seconds: float = 0.5,
) -> Iterator[Row]:
    """A row per system as soon as it is measured, all on the same weights and inputs.

    A system that fails gives a row that says how. A row also fails if its error against float64
    is above ALLOWED times that of eager, which is measured first where it is asked for.
    """
    model, inputs = build(name, dtype, device, batch)
    expected = reference(model, inputs)
    floor = math.nan
    for system in systems:
        row = Row(name, batch, str(dtype).removeprefix("torch."), device, system)
        with empty_caches(), torch.no_grad():
            try:
                row = measured(row, model, inputs, expected, seconds)
            except Exception as problem:  # reported in the table; the other systems still run
                row = replace(row, failure=f"{type(problem).__name__}: {problem}")
        floor = row.error if system == "eager" else floor
        yield judged(row, floor)


def measured(
    row: Row,
    model: Callable[..., Any],
    inputs: Inputs,
    expected: torch.Tensor,
    seconds: float,
) -> Row:
    """The row with its numbers."""
    call, compile_seconds = prepare(row.system, model, inputs)
    row = replace(row, error=relative_error(call(), expected))
    if not row.system.startswith("eager"):
        row = replace(row, compile_seconds=compile_seconds)
    if row.system == TRACING:
        return replace(row, cached_seconds=prepare(row.system, model, inputs)[1])
    times = milliseconds(call, row.device, seconds=seconds)
    row = replace(row, milliseconds=times.median, fastest=times.fastest)
    if row.device == "cuda":
        row = replace(row, kernels=kernels(call))
    if row.system.startswith("hidet"):
        compiled, left = operators(model, inputs)
        row = replace(row, compiled=compiled, left=left)
    if not row.system.startswith("eager"):
        row = replace(row, cached_seconds=prepare(row.system, model, inputs)[1])
    return row


def judged(row: Row, floor: float) -> Row:
    """The row, failed if its numbers are wrong rather than slow."""
    if not row.failure and (math.isnan(row.error) or row.error > ALLOWED * floor):
        return replace(row, failure=f"error {row.error:.1e}, eager's is {floor:.1e}")
    return row
