"""What a call costs beside its kernels: tiny tensors, so that little else is left."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd

import hidet
from benchmarks.measure.systems import Inputs, empty_caches, prepare
from benchmarks.measure.table import number, table
from benchmarks.measure.timing import host_microseconds
from hidet.lang import attr, f32
from hidet.lang.cuda import threadIdx

TENSORS = (2, 4, 8, 16)


@dataclass(frozen=True)
class OverheadRow:
    """Host microseconds of a call with so many tensors in and out, half of them each."""

    tensors: int
    device: str
    eager: float = math.nan
    guard: float = math.nan
    """Through torch.compile, by a backend that returns the tensors of its first call."""
    hidet: float = math.nan
    direct: float = math.nan
    script: float = math.nan
    """A launch of a script function on three tensors, on a GPU."""
    failure: str = ""


def measure_overhead(tensors: int, device: str) -> OverheadRow:
    """The row of one number of tensors."""
    model = Doubled()
    inputs = tuple(torch.ones(16, device=device) for _ in range(tensors // 2))
    row = OverheadRow(tensors, device)
    with torch.no_grad(), empty_caches():
        torch._dynamo.reset()
        guarded = torch.compile(model, backend=aot_autograd(fw_compiler=remember))
        guard = host_microseconds(lambda: guarded(*inputs), device)
        own = host_microseconds(lambda: model(*inputs), device)
        row = replace(row, eager=own, guard=guard)
        try:
            return replace(
                row,
                hidet=host_time("hidet", model, inputs, device),
                direct=host_time("hidet_torch.compile", model, inputs, device),
                script=launch_time(device),
            )
        except Exception as problem:  # shown in the table; the other rows still run
            return replace(row, failure=f"{type(problem).__name__}: {problem}")


class Doubled(torch.nn.Module):
    """As many outputs as inputs."""

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(x * 2 for x in inputs)


def remember(graph_module: torch.fx.GraphModule, _: Sequence[Any]) -> Callable[..., Any]:
    """A compiler of nothing: what the graph gave first is given again."""
    kept: list[Any] = []

    def call(arguments: list[Any]) -> Any:
        if not kept:
            kept.extend(graph_module(*arguments))
        arguments.clear()
        return kept

    call._boxed_call = True  # type: ignore[attr-defined]
    return call


def host_time(system: str, model: torch.nn.Module, inputs: Inputs, device: str) -> float:
    """Host microseconds of a call through a system."""
    return host_microseconds(prepare(system, model, inputs)[0], device)


def launch_time(device: str) -> float:
    """Host microseconds of a launch of a script function; none on a CPU, which only compiles it."""
    if device == "cpu":
        return math.nan

    @hidet.script
    def added(a: f32[32], b: f32[32], c: f32[32]):
        attr.cuda_block_dim = 32
        c[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x]

    function = hidet.driver.build_ir_module(added.ir_module())
    arrays = [torch.ones(32, device=device) for _ in range(3)]
    return host_microseconds(lambda: function(*arrays), device)


def overhead_table(rows: Sequence[OverheadRow]) -> str:
    """The rows as text."""
    headings = ("tensors", "eager us", "guard alone us", "hidet us", "beside the guard us")
    lines = [
        [
            str(r.tensors),
            number(r.eager, ".1f"),
            number(r.guard, ".1f"),
            number(r.hidet, ".1f"),
            number(r.hidet - r.guard, ".1f"),
            number(r.direct, ".1f"),
            number(r.script, ".1f"),
            (r.failure.splitlines() or [""])[0],
        ]
        for r in rows
    ]
    own = ("hidet_torch.compile us", "script launch us")
    return table((*headings, *own, "failure"), lines)
