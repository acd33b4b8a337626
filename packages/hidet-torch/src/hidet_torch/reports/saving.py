"""Compiled models as graphs that need no PyTorch: arrays in, arrays in rows out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import torch

from hidet import ops
from hidet.errors import BadArgument
from hidet.errors.warning import warn
from hidet.frontend.importing.report import require_complete
from hidet.graph import FlowGraph, Tensor
from hidet.graph.axis_guard import AxisGuard
from hidet.graph.guards import below, merged
from hidet.graph.rewrite import outputs_from
from hidet.types import TensorType
from hidet.types.strides import inverse
from hidet_torch.importing.checks import only_asserted
from hidet_torch.importing.imported import Imported, LiveInput, Output
from hidet_torch.memory.tensors import storage_of, view_shape

NO_FILE = "a file holds no PyTorch: replace these operators, or save the parts without them"
"""What to do about operators that only PyTorch can run."""


class UncheckedWarning(UserWarning):
    """A graph without PyTorch does not check what the model asserts of the values of a call."""


Range: TypeAlias = tuple[int, int | None]
"""The least and the greatest number that a size may be; None: there is none."""


def standalone(imported: Imported, held: Sequence[Any], limits: Mapping[str, Range]) -> FlowGraph:
    """The graph of a model by itself: its inputs are those of the model that are tensors.

    `held` has for each argument of the traced graph the tensor that the model holds, or None for
    an input; `limits` are those of sizes that may not be any number. Raises for what only PyTorch
    can do: operators that it runs, writes to inputs or buffers, results that are views of inputs.
    """
    require_complete(imported.coverage, NO_FILE)
    asserted = only_asserted(imported.calls.values())
    if asserted is None:
        raise BadArgument(
            "the model raises by the values of a tensor, in a check that only PyTorch has",
            help="these check nothing: `torch.linalg.inv_ex`, `solve_ex`, `cholesky_ex`, "
            "`lu_factor_ex`, `segment_reduce(unsafe=True)`",
        )
    if asserted:
        said = "; ".join(dict.fromkeys(asserted))
        warn(UncheckedWarning(f"outside of PyTorch nobody checks what the model asserts: {said}"))
    if imported.mutations or imported.updates:
        raise BadArgument("the model writes to its inputs or buffers, which a file does not hold")
    if imported.carriers:
        names = ", ".join(imported.carriers)
        raise BadArgument(f"the model is given the sizes {names} as numbers, not by its inputs")
    inputs: list[Tensor] = []
    new: dict[Tensor, Tensor] = {
        tensor: constant(weight.values(), tensor) for tensor, weight in imported.weights.items()
    }
    guards: list[AxisGuard] = []
    for live in imported.inputs:
        value = held[live.position]
        given = outside(live) if value is None else constant(value, outside(live))
        inputs += [given] if value is None else []
        new[live.tensor] = arranged(given, live.order)
        guards += [
            replace(each, tensor=given, axis=live.order[each.axis])
            for each in imported.graph.guards
            if each.tensor is live.tensor and value is None
        ]
    made = outputs_from(imported.graph, new)
    results = [each for each in imported.outputs if each.index is not None or has_value(each)]
    size_sources = made[len(imported.graph.results) :]
    outputs = (*(result(each, made) for each in results), *size_sources)
    graph = FlowGraph(inputs, outputs, "model", guards=guards, data_sizes=imported.graph.data_sizes)
    graph.limits = limits_of(graph, imported.graph, limits)
    return graph


def orders_of(imported: Imported, held: Sequence[Any]) -> dict[str, tuple[int, ...]]:
    """The order of axes in which each input of the standalone graph lay when it was traced."""
    given = (each for each in imported.inputs if held[each.position] is None)
    return {each.tensor.name: each.order for each in given}


def limits_of(graph: FlowGraph, traced: FlowGraph, limits: Mapping[str, Range]) -> dict[str, Range]:
    """The limits of a graph's sizes: the user's, which those keep that stand for others, and those
    that the trace needs."""
    known = {name: each for name, each in limits.items() if name in graph.symbols}
    stands = {each.symbol: each.tensor.shape[each.axis] for each in graph.guards}
    replaced = {name: limits[name] for name in stands.keys() & limits.keys()}
    found = merged({**known, **replaced}, stands)
    for name, (_, most) in traced.limits.items():
        if name in graph.symbols:
            found[name] = below(found.get(name, (0, None)), most)
    return found


def constant(value: torch.Tensor, like: Tensor) -> Tensor:
    """A tensor that the model holds."""
    if value.numel() == 0 and like.size != 0:
        raise BadArgument("a weight was given away by steal_weights", help="save the model first")
    storage = storage_of(value.detach().contiguous())
    return Tensor(TensorType(like.dtype, view_shape(value)), like.device, storage, name=like.name)


def outside(live: LiveInput) -> Tensor:
    """An input with its axes as the model has them."""
    if live.complex:
        raise BadArgument(f"input {live.position} has complex numbers, which no file can hold")
    tensor = live.tensor
    shape = tuple(tensor.shape[axis] for axis in inverse(live.order))
    return Tensor(TensorType(tensor.dtype, shape), tensor.device, name=tensor.name)


def arranged(tensor: Tensor, order: tuple[int, ...]) -> Tensor:
    """The tensor with its axes in an order."""
    return tensor if order == tuple(range(len(order))) else ops.permute(tensor, order)


def has_value(output: Output) -> bool:
    """Whether a result is anything but None."""
    return output.alias is not None or output.value is not None


def result(output: Output, tensors: Sequence[Tensor]) -> Tensor:
    """A result with its axes as the model has them."""
    if output.index is None:
        what = "a view of an input" if output.alias is not None else f"{output.value!r}, no tensor"
        raise BadArgument(f"a result of the model is {what}, which a file cannot give")
    if output.complex:
        raise BadArgument("a result of the model has complex numbers, which no file can hold")
    return arranged(tensors[output.index], inverse(output.order))
