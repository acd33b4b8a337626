"""What measuring schedules gives, and what it costs: a network or an operator at each search space.

`search_space` 0 is the cost model's choice, 1 its best eight measured, 2 all schedules measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter
from typing import Any

import torch

import hidet_torch
from benchmarks.measure.accuracy import reference, relative_error
from benchmarks.measure.networks import ALLOWED
from benchmarks.measure.operators import Wrapped, microseconds
from benchmarks.measure.systems import Inputs, empty_caches
from benchmarks.measure.table import number, table
from benchmarks.measure.timing import Call

SPACES = (0, 1, 2)
ROUNDS = 5
"""How often each call is timed, in turns with the others."""


@dataclass(frozen=True)
class TunedRow:
    """One subject at one search space: microseconds of a call, and seconds until its first result.

    `error` and `eager_error` are those against float64.
    """

    subject: str
    dtype: str
    device: str
    space: int
    microseconds: float = math.nan
    seconds: float = math.nan
    error: float = math.nan
    eager_error: float = math.nan
    failure: str = ""


def measure_tuned(
    subject: str,
    function: Callable[..., Any],
    inputs: Inputs,
    tune_seconds: int = 0,
    spaces: Sequence[int] = SPACES,
) -> Iterator[TunedRow]:
    """A row for each search space, nothing known from before; `tune_seconds` limits each search.

    All are timed at the end, in turns: a machine that gets slower is so for each of them.
    """
    device = inputs[0].device.type
    dtype = next((each.dtype for each in weights_of(function, inputs)), torch.float32)
    row = TunedRow(subject, str(dtype).removeprefix("torch."), device, 0)
    with torch.no_grad():
        expected = reference(function, inputs)
        row = replace(row, eager_error=relative_error(function(*inputs), expected))
        made = []
        for space in spaces:
            with empty_caches():
                made.append(
                    compiled(replace(row, space=space), function, inputs, expected, tune_seconds)
                )
        rounds = [[timed(call, device) for _, call in made] for _ in range(ROUNDS)]
        for (found, _), times in zip(made, zip(*rounds, strict=True), strict=True):
            yield replace(found, microseconds=median(times))


def timed(call: Call | None, device: str) -> float:
    """Microseconds of a call; NaN where there is none."""
    return math.nan if call is None else microseconds(call, device)


def weights_of(function: Callable[..., Any], inputs: Inputs) -> Iterator[torch.Tensor]:
    """The tensors whose type is that of the computation."""
    yield from (each for each in inputs if each.is_floating_point())
    if isinstance(function, torch.nn.Module):
        yield from function.parameters()


def compiled(
    row: TunedRow,
    function: Callable[..., Any],
    inputs: Inputs,
    expected: torch.Tensor,
    tune_seconds: int,
) -> tuple[TunedRow, Call | None]:
    """The row with what is known before calls are timed, and the call, or with what went wrong."""
    model = function if isinstance(function, torch.nn.Module) else Wrapped(function)
    try:
        start = perf_counter()
        call = hidet_torch.compile(
            model, *inputs, search_space=row.space, tune_seconds=tune_seconds
        )
        error = relative_error(call(*inputs), expected)
        row = replace(row, seconds=perf_counter() - start, error=error)
    except Exception as problem:  # shown in the table; the other rows are still measured
        return replace(row, failure=f"{type(problem).__name__}: {problem}"), None
    if not row.error <= ALLOWED * row.eager_error:
        failure = f"error {row.error:.1e}, PyTorch's is {row.eager_error:.1e}"
        row = replace(row, failure=failure)
    return row, lambda: call(*inputs)


def tuned_table(rows: Sequence[TunedRow]) -> str:
    """The rows, each with its speed-up over the cost model's choice."""
    base = {(r.subject, r.dtype): r.microseconds for r in rows if r.space == 0}
    headings = ("subject", "search space", "us", "speed-up", "seconds to compile", "error")
    lines = [
        [
            f"{row.subject}, {row.dtype}",
            str(row.space),
            number(row.microseconds, ".1f"),
            number(base.get((row.subject, row.dtype), math.nan) / row.microseconds, ".2f", "x"),
            number(row.seconds, ".1f"),
            number(row.error, ".1e"),
            (row.failure.splitlines() or [""])[0],
        ]
        for row in rows
    ]
    return table((*headings, "failure"), lines)
