"""Operators on tensors whose values are there: compiled once for each graph, run at once."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Tensor
from hidet.runtime.executor import Executor
from hidet.runtime.memory import view_of

_ready: dict[object, Executor] = {}


def run_graph(graph: FlowGraph, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The graph's outputs for `inputs`; numpy in, numpy out on the CPU."""
    executor = executor_for(graph)
    views = executor([view_of(each.numpy()) for each in inputs])
    return tuple(
        Tensor(like.type.with_(shape=tuple(array.shape)), like.device, array)
        for like, array in zip(graph.outputs, map(as_array, views), strict=True)
    )
