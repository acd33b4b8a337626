"""What a call costs beside its kernels: tiny tensors, so that little else is left."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import sub
from statistics import median
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd

import hidet
import hidet_torch
from benchmarks.measure.systems import SYSTEMS, Inputs, empty_caches
from benchmarks.measure.table import number, table
from benchmarks.measure.timing import Call, host_microseconds
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
    beside: float = math.nan
    """What hidet takes more than the guard, by the median of each two taken after each other."""
    direct: float = math.nan
    loaded: float = math.nan
    script: float = math.nan
    """A launch of a script function on three tensors, on a GPU."""
    failure: str = ""


def measure_overhead(tensors: int, device: str) -> OverheadRow:
    """The row of one number of tensors."""
    inputs = tuple(torch.ones(16, device=device) for _ in range(tensors // 2))
    row = OverheadRow(tensors, device)
    with torch.no_grad(), empty_caches():
        torch._dynamo.reset()
        try:
            parts = host_microseconds(prepared(inputs, device), device)
        except Exception as problem:  # shown in the table; the other rows still run
            return replace(row, failure=f"{type(problem).__name__}: {problem}")
    beside = median(map(sub, parts["hidet"], parts["guard"]))
    return replace(row, beside=beside, **{name: median(each) for name, each in parts.items()})


def prepared(inputs: Inputs, device: str) -> dict[str, Call]:
    """The calls that are compared, by their fields of a row."""
    guarded = torch.compile(doubled(), backend=aot_autograd(fw_compiler=remember))
    calls: dict[str, Call] = {
        "eager": SYSTEMS["eager"](doubled(), inputs),
        "guard": lambda: guarded(*inputs),
        "hidet": SYSTEMS["hidet"](doubled(), inputs),
        "direct": SYSTEMS["hidet_torch.compile"](doubled(), inputs),
        "loaded": loaded(doubled(), inputs),
    }
    if device != "cpu":  # only compiled there
        calls["script"] = launch(device)
    return calls


def doubled() -> torch.nn.Module:
    """As many outputs as inputs; of code of its own, with which Dynamo keeps what it compiled."""

    def forward(self: torch.nn.Module, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(x * 2 for x in inputs)

    forward.__code__ = forward.__code__.replace()
    return type("Doubled", (torch.nn.Module,), {"forward": forward})()


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


def loaded(model: torch.nn.Module, inputs: Inputs) -> Call:
    """The compiled model out of a file, called on PyTorch's tensors."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.hidet")
        hidet_torch.compile(model, *inputs).save(path)
        compiled = hidet.load(path)
    return lambda: compiled(*inputs)


def launch(device: str) -> Call:
    """A launch of a script function."""

    @hidet.script
    def added(a: f32[32], b: f32[32], c: f32[32]):
        attr.cuda_block_dim = 32
        c[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x]

    function = hidet.driver.build_ir_module(added.ir_module())
    arrays = [torch.ones(32, device=device) for _ in range(3)]
    return lambda: function(*arrays)


def overhead_table(rows: Sequence[OverheadRow]) -> str:
    """The rows as text."""
    headings = ("tensors", "eager us", "guard alone us", "hidet us", "beside the guard us")
    lines = [
        [
            str(r.tensors),
            number(r.eager, ".1f"),
            number(r.guard, ".1f"),
            number(r.hidet, ".1f"),
            number(r.beside, ".1f"),
            number(r.direct, ".1f"),
            number(r.loaded, ".1f"),
            number(r.script, ".1f"),
            (r.failure.splitlines() or [""])[0],
        ]
        for r in rows
    ]
    own = ("hidet_torch.compile us", "hidet.load us", "script launch us")
    return table((*headings, *own, "failure"), lines)
