"""One operator through PyTorch and through hidet."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from benchmarks.measure.accuracy import reference, relative_error
from benchmarks.measure.networks import ALLOWED
from benchmarks.measure.systems import Inputs, empty_caches, prepare
from benchmarks.measure.table import number, table
from benchmarks.measure.timing import Call, in_graph, milliseconds
from benchmarks.operators import Case

COPIES = 10
LARGEST = {"cpu": 5e9, "cuda": math.inf}
"""Operators of more flops than this are not run: on a CPU they take minutes."""


@dataclass(frozen=True)
class OperatorRow:
    """Both systems on one operator: microseconds, errors against float64, seconds to compile."""

    operator: str
    dtype: str
    device: str
    torch_us: float = math.nan
    hidet_us: float = math.nan
    torch_error: float = math.nan
    hidet_error: float = math.nan
    compile_seconds: float = math.nan
    flops: float = 0.0
    failure: str = ""


def measure_operator(case: Case, dtype: torch.dtype, device: str) -> OperatorRow:
    """A row for the case; an error above ALLOWED times that of PyTorch is a failure."""
    row = OperatorRow(case.name, str(dtype).removeprefix("torch."), device, flops=case.flops)
    function, inputs = case.build(dtype, device)
    with torch.no_grad(), empty_caches():
        expected = reference(function, inputs)
        row = replace(
            row,
            torch_error=relative_error(function(*inputs), expected),
            torch_us=microseconds(lambda: function(*inputs), device),
        )
        try:
            return through_hidet(row, function, inputs, expected)
        except Exception as problem:  # shown in the table; the other operators still run
            return replace(row, failure=f"{type(problem).__name__}: {problem}")


def through_hidet(
    row: OperatorRow, function: Callable[..., Any], inputs: Inputs, expected: torch.Tensor
) -> OperatorRow:
    """The row with hidet's numbers."""
    call, seconds = prepare("hidet_torch.compile", Wrapped(function), inputs)
    row = replace(row, compile_seconds=seconds, hidet_error=relative_error(call(), expected))
    row = replace(row, hidet_us=microseconds(call, row.device))
    if not row.hidet_error <= ALLOWED * row.torch_error:
        failure = f"error {row.hidet_error:.1e}, PyTorch's is {row.torch_error:.1e}"
        return replace(row, failure=failure)
    return row


class Wrapped(torch.nn.Module):
    """A function as a module, which is what torch.export takes."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def microseconds(call: Call, device: str) -> float:
    """The time of a call; on a GPU that of one of several in a CUDA graph, operands cached."""
    if device == "cuda":
        return milliseconds(in_graph(call, COPIES), device, seconds=0.2).median / COPIES * 1e3
    return milliseconds(call, device, seconds=0.2).median * 1e3


def operator_table(rows: list[OperatorRow]) -> str:
    """The rows as text; rates are hidet's."""
    headings = ("operator", "torch us", "hidet us", "speed-up", "TFLOP/s", "torch error", "error")
    lines = [
        [
            f"{r.operator}, {r.dtype}",
            number(r.torch_us, ".1f"),
            number(r.hidet_us, ".1f"),
            number(r.torch_us / r.hidet_us, ".2f", "x"),
            number(r.flops / r.hidet_us / 1e6 if r.flops else None, ".2f"),
            number(r.torch_error, ".1e"),
            number(r.hidet_error, ".1e"),
            number(r.compile_seconds, ".2f"),
            (r.failure.splitlines() or [""])[0],
        ]
        for r in rows
    ]
    return table((*headings, "compile s", "failure"), lines)
