"""Tracing functions to ATen graphs and running imported graphs by numpy references, for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch._functorch.aot_autograd import aot_export_module

from hidet.graph import FlowGraph, evaluate
from hidet_torch.capture.decompositions import decompositions
from hidet_torch.importing.imported import Imported
from hidet_torch.importing.importer import import_graph


def imported(function: Callable[..., Any], *inputs: Any) -> Imported:
    """The import of a function traced for inputs."""
    return import_graph(traced(function, *inputs))


def traced(function: Callable[..., Any], *inputs: Any) -> torch.fx.GraphModule:
    """A function as ATen operators, as AOTAutograd traces it."""
    module, table = Wrapped(function), decompositions()
    with torch.no_grad():
        return aot_export_module(module, inputs, trace_joint=False, decompositions=table)[0]


class Wrapped(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *given: Any) -> Any:
        return results(self.function(*given))


def results(found: Any) -> list[Any]:
    return list(found) if isinstance(found, list | tuple) else [found]


def by_reference(graph: Imported, *inputs: torch.Tensor) -> list[np.ndarray[Any, Any]]:
    """What the graph's references give, in float64, with the axes in the model's order."""
    arrays = []
    for live in graph.inputs:
        given = as_array(inputs[live.position])
        arrays.append(np.transpose(given, live.order))
    found = evaluate(without_checks(graph), *arrays)
    outputs = []
    for output in graph.outputs:
        if output.index is None:
            assert output.alias is not None
            assert output.alias.position is not None
            outputs.append(None)
            continue
        back = np.argsort(output.order) if output.order else ()
        outputs.append(np.transpose(found[output.index], back))
    return outputs


def without_checks(graph: Imported) -> FlowGraph:
    """The graph without what PyTorch checks of values, which has no reference and comes last."""
    whole = graph.graph
    if not graph.calls:
        return whole
    results = [each.index + 1 for each in graph.outputs if each.index is not None]
    return whole.with_outputs(whole.outputs[: max(results)])


def as_array(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    plain = tensor.detach().resolve_conj()
    return (plain.double() if plain.is_floating_point() else plain).numpy()


def in_double(value: Any) -> Any:
    """Inputs with floating-point tensors in float64."""
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.double()
    return value
