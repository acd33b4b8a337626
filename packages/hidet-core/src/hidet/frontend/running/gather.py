"""The graph of a model that the host takes part in: what crosses between both joins its ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hidet.errors import NotYet
from hidet.frontend.running.host_values import HostFunction
from hidet.frontend.running.results import Results
from hidet.frontend.running.stages import replaced
from hidet.graph import FlowGraph, Tensor, trace_from


def gathered(
    inputs: Iterable[Tensor], results: Results, functions: Sequence[HostFunction], name: str
) -> FlowGraph:
    """The graph of a model; what functions give are further inputs, and what they read are further
    outputs.

    Raises NotYet for a function of the host that reads what is computed inside of a loop.
    """
    for tensor in (tensor for function in functions for tensor in function.tensors()):
        if tensor.storage is None:
            results.add(tensor)
    made = [t for function in functions for t in function.results if isinstance(t, Tensor)]
    given = [*inputs, *made]
    require_outside(functions, given)
    return FlowGraph(given, results.tensors, name)


def moved(before: FlowGraph, after: FlowGraph) -> Mapping[Tensor, Tensor]:
    """What stands for the ends of a graph after passes rewrote it, which keep them in order."""
    ends = (*before.inputs, *before.outputs)
    return dict(zip(ends, (*after.inputs, *after.outputs), strict=False))


def following(
    functions: Iterable[HostFunction], new: Mapping[Tensor, Tensor]
) -> list[HostFunction]:
    """Functions on what stands for the tensors that they read and give."""
    return [replaced(each, new) for each in functions]


def require_outside(functions: Sequence[HostFunction], given: Sequence[Tensor]) -> None:
    """Raise NotYet for a function of the host that reads what is computed inside of a loop."""
    for function in functions:
        if function.tensors() and not set(trace_from(function.tensors()).inputs) <= set(given):
            raise NotYet(
                f"{function.name} runs on the host, and reads what a loop or a branch computes"
            )
