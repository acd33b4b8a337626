"""What a network's calls need of a GPU's memory beside its weights."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from benchmarks.measure.libraries import in_best_layout
from benchmarks.measure.systems import Inputs, System, eager, empty_caches, hidet, inductor
from benchmarks.measure.table import number, table
from benchmarks.measure.timing import Call, warm_up
from benchmarks.models import build

MIB = 1 << 20


@dataclass(frozen=True)
class MemoryRow:
    """MiB of one system with one network: its weights, and what there is beside them."""

    network: str
    batch: int
    dtype: str
    system: str
    weights: float = math.nan
    rest: float = math.nan
    """Between calls: other forms of weights, pools and arenas, the inputs."""
    peak: float = math.nan
    """At most during a call, which is handed to nobody: its outputs too."""
    failure: str = ""


def inductor_plain(model: Callable[..., Any], inputs: Inputs) -> Call:
    """PyTorch's compiler without CUDA graphs, whose memory stays taken."""
    model, inputs = in_best_layout(model, inputs)
    compiled = torch.compile(model)
    return lambda: compiled(*inputs)


def hidet_stealing(model: Callable[..., Any], inputs: Inputs) -> Call:
    """Hidet giving back weights that it reads in another form."""
    compiled: Any = torch.compile(model, backend="hidet", options={"steal_weights": True})
    return lambda: compiled(*inputs)


COMPARED: dict[str, System] = {
    "eager": eager,
    "inductor": inductor_plain,
    "inductor, CUDA graphs": inductor,
    "hidet": hidet,
    "hidet, steal_weights": hidet_stealing,
}


def measure_memory(name: str, dtype: torch.dtype, batch: int = 1) -> Iterator[MemoryRow]:
    """A row for each system, each with a model of its own and nothing of the others' left."""
    for label, system in COMPARED.items():
        row = MemoryRow(name, batch, str(dtype).removeprefix("torch."), label)
        torch._dynamo.reset()
        with torch.no_grad(), empty_caches():
            try:
                yield measured(row, system, dtype)
            except Exception as problem:  # shown in the table; the other systems still run
                yield replace(row, failure=f"{type(problem).__name__}: {problem}")


def measured(row: MemoryRow, system: System, dtype: torch.dtype) -> MemoryRow:
    """The row with its numbers; what others left behind before does not count."""
    torch._C._cuda_clearCublasWorkspaces()  # each system pays for its own
    before = settled()
    model, inputs = build(row.network, dtype, "cuda", row.batch)
    weights = sum({each.data_ptr(): each.nbytes for each in tensors_of(model)}.values())
    call = system(model, inputs)
    warm_up(call, "cuda")
    del model, inputs  # a copy in another layout is the system's choice; this one is not needed
    rest = settled()
    torch.cuda.reset_peak_memory_stats()
    call()
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated()
    numbers = (weights, rest - before - weights, peak - before - weights)
    weight_mib, rest_mib, peak_mib = (each / MIB for each in numbers)
    return replace(row, weights=weight_mib, rest=rest_mib, peak=peak_mib)


def tensors_of(model: torch.nn.Module) -> list[torch.Tensor]:
    """A model's parameters and buffers."""
    return [*model.parameters(), *model.buffers()]


def settled() -> int:
    """Bytes that are taken when all garbage is gone."""
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    return int(torch.cuda.memory_allocated())


def memory_table(rows: Sequence[MemoryRow]) -> str:
    """The rows as text."""
    headings = ("network", "system", "weights MiB", "beside them MiB", "in a call MiB", "failure")
    lines = [
        [
            f"{row.network}, {row.dtype}, batch {row.batch}",
            row.system,
            number(row.weights, ".1f"),
            number(row.rest, ".1f"),
            number(row.peak, ".1f"),
            (row.failure.splitlines() or [""])[0],
        ]
        for row in rows
    ]
    return table(headings, lines)
