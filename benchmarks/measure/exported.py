"""One exported network through hidet-onnx, hidet-torch and ONNX Runtime: kernels and errors."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch

import hidet_torch
from benchmarks.exports import Subject, by_parameter
from benchmarks.measure.accuracy import Widened, one_by_one
from hidet.build.compile import compile_graph
from hidet.graph import FlowGraph
from hidet.runtime.plans.plan import Host, Launch


def exact(made: Subject) -> list[torch.Tensor]:
    """All results of a network with every weight, input and intermediate in float64."""
    wide = copy.deepcopy(made.model).double()
    for module in wide.modules():
        one_by_one(module)
    given = [x.double() if x.is_floating_point() else x for x in made.inputs]
    with Widened(), torch.no_grad():
        return results(wide(*given))


def results(out: Any) -> list[torch.Tensor]:
    """What a model gives, as a list."""
    return [out] if isinstance(out, torch.Tensor) else list(out)


def worst(found: Iterable[Any], expected: Sequence[torch.Tensor]) -> float:
    """The largest relative error of any result, by length."""
    errors = []
    for out, right in zip(found, expected, strict=True):
        difference = torch.as_tensor(out).to(torch.float64) - right
        errors.append(float(difference.norm() / right.norm()))
    return max(errors)


def arrays(made: Subject) -> list[np.ndarray[Any, Any]]:
    """The inputs as numpy has them."""
    return [each.numpy() for each in made.inputs]


def from_torch(made: Subject) -> Any:
    """The network by hidet-torch, with dynamic shapes."""
    shapes = None
    if made.axes:
        left_open = [dict.fromkeys(axes, torch.export.Dim.DYNAMIC) for axes in made.axes]
        shapes = by_parameter(made.model, left_open)
    return hidet_torch.compile(made.model, *made.inputs, dynamic_shapes=shapes)


def steps(graph: FlowGraph) -> tuple[int, int]:
    """How many kernels a call of a graph runs, those of a loop's body not counted, and how many
    steps of a framework."""
    found = compile_graph(graph).archive.main.steps
    launched = sum(isinstance(step, Launch) for step in found)
    return launched, sum(isinstance(step, Host) for step in found)
