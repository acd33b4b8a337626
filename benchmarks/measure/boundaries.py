"""What lies between kernels: a network's CUDA graphs replayed with kernels that do nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

import hidet_torch
from benchmarks.measure.systems import Inputs, empty_caches
from benchmarks.measure.table import number, table
from benchmarks.measure.timing import milliseconds
from benchmarks.models import build
from hidet.runtime.devices.driver import call, cu
from hidet.runtime.devices.launchable import CudaModule
from hidet.runtime.graphs.kernel_node import KernelNode
from hidet.runtime.graphs.segment import Segment
from hidet.runtime.programs.stream_program import StreamProgram
from hidet.toolchain import compile_cuda

Cluster = tuple[int, int, int]
ROUNDS = 2
"""Calls with full edges and with early ones take turns, this often."""
REPLAYS = 20
"""Replays one after the other between two events: the host is ahead of the GPU."""
EMPTY = """
extern "C" __global__ void __cluster_dims__({0}, {1}, {2}) empty_{0}_{1}_{2}() {{
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}}
"""


@dataclass(frozen=True)
class BoundaryRow:
    """One network: nodes of its graphs, microseconds of a replay, milliseconds of a call."""

    network: str
    batch: int
    dtype: str
    kernels: int = 0
    path: int = 0
    """Nodes on the longest path."""
    early: int = 0
    """Nodes that begin while the one they wait for still runs."""
    full_us: float = math.nan
    """A replay with empty bodies and full edges."""
    early_us: float = math.nan
    """The same with the edges that the graph has."""
    full_ms: float = math.nan
    """A call with full edges."""
    early_ms: float = math.nan
    failure: str = ""


def measure_boundaries(name: str, dtype: torch.dtype, batch: int = 1) -> BoundaryRow:
    """The row of a network on the GPU."""
    row = BoundaryRow(name, batch, str(dtype).removeprefix("torch."))
    with torch.no_grad(), empty_caches():
        try:
            model, inputs = build(name, dtype, "cuda", batch, drawn_on="cuda")
            call, program = compiled(model, inputs)
            segments = [part for part in program.parts if isinstance(part, Segment)]
            row = replace(
                row,
                kernels=sum(len(each.kernels) for each in segments),
                path=sum(map(longest_path, segments)),
                early=sum(
                    sum(n in each.early for n in range(len(each.kernels))) for each in segments
                ),
                full_us=replay_microseconds([emptied(each, early=False) for each in segments]),
                early_us=replay_microseconds([emptied(each, early=True) for each in segments]),
            )
            full, early = milliseconds_of_edges(call, program, segments)
            return replace(row, full_ms=full, early_ms=early)
        except Exception as problem:  # shown in the table; the other rows still run
            return replace(row, failure=f"{type(problem).__name__}: {problem}")


def compiled(model: torch.nn.Module, inputs: Inputs) -> tuple[Callable[[], Any], StreamProgram]:
    """A call of the compiled network, and the program behind it."""
    made = hidet_torch.compile(model, *inputs)
    made(*inputs)
    run: Any = made.run
    (program,) = run.runner.executor.programs.values()
    return lambda: made(*inputs), program.on(torch.cuda.current_stream().cuda_stream)


def milliseconds_of_edges(
    call: Callable[[], Any], program: StreamProgram, segments: Sequence[Segment]
) -> tuple[float, float]:
    """Of a call with full edges only, and with those that the graphs have; these taking turns."""
    early = [each.early for each in segments]
    times: tuple[list[float], list[float]] = ([], [])
    for is_early in (0, 1) * ROUNDS:
        for segment, edges in zip(segments, early, strict=True):
            segment.early = edges if is_early else ()
        program.forget()
        times[is_early].append(milliseconds(call, "cuda", seconds=0.3).median)
    return min(times[0]), min(times[1])


def emptied(segment: Segment, early: bool) -> Segment:
    """A graph of as many nodes with the same blocks and order that do nothing."""
    clusters = [cluster_of(kernel) for kernel in segment.kernels]
    source = "".join(EMPTY.format(*each) for each in sorted(set(clusters)))
    cubin = compile_cuda(source, arch=arch_of(), name="empty").cubin
    module = CudaModule(cubin, f"cuda:{torch.cuda.current_device()}")
    kernels = [
        KernelNode(
            replace(kernel.step, function="empty_{}_{}_{}".format(*cluster), args=()), module
        )
        for kernel, cluster in zip(segment.kernels, clusters, strict=True)
    ]
    return Segment(kernels, segment.waits, segment.early if early else ())


def arch_of() -> str:
    """The GPU as compilers name it."""
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}"


def cluster_of(kernel: KernelNode) -> Cluster:
    """How many blocks a cluster of the kernel has along each axis."""
    facts = cu.CUfunction_attribute
    sizes = (
        call("cuFuncGetAttribute", getattr(facts, f"CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_{axis}"),
             kernel.function)
        for axis in ("WIDTH", "HEIGHT", "DEPTH")
    )  # fmt: skip
    x, y, z = (max(int(each), 1) for each in sizes)
    return x, y, z


def longest_path(segment: Segment) -> int:
    """Nodes on the longest path of a graph."""
    lengths: list[int] = []
    for needs in segment.waits:
        lengths.append(1 + max((lengths[each] for each in needs), default=0))
    return max(lengths, default=0)


def replay_microseconds(segments: Iterable[Segment]) -> float:
    """How long the GPU takes for the graphs one after the other, again and again."""
    stream = torch.cuda.current_stream().cuda_stream
    graphs = list(segments)

    def replay() -> None:
        for _ in range(REPLAYS):
            for graph in graphs:
                graph.run([], [], stream)

    return milliseconds(replay, "cuda", seconds=0.2).median / REPLAYS * 1e3


def boundary_table(rows: Sequence[BoundaryRow]) -> str:
    """The rows as text."""
    headings = ("network", "batch", "kernels", "longest path", "early", "empty, full edges us",
                "empty us", "each on the path, full us", "each us", "call, full edges ms",
                "call ms", "failure")  # fmt: skip
    lines = [
        [
            row.network, str(row.batch), str(row.kernels), str(row.path), str(row.early),
            number(row.full_us, ".1f"), number(row.early_us, ".1f"),
            number(row.full_us / max(row.path, 1), ".2f"),
            number(row.early_us / max(row.path, 1), ".2f"),
            number(row.full_ms, ".3f"), number(row.early_ms, ".3f"),
            (row.failure.splitlines() or [""])[0],
        ]
        for row in rows
    ]  # fmt: skip
    return table(headings, lines)
