"""Where Dynamo found the inputs of a graph: which are weights of the user's modules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch._dynamo.guards import install_guard

from hidet_torch.weights.identity import same_object


def weight_sources(graph_module: torch.fx.GraphModule, inputs: Sequence[Any]) -> dict[int, Any]:
    """Which inputs of a Dynamo graph are weights of the user's modules, and where those are."""
    found: dict[int, Any] = {}
    for index, node in enumerate(graph_module.graph.find_nodes(op="placeholder")):
        source = getattr(node.meta.get("grapharg"), "source", None)
        if source is None or type(inputs[index]) not in (torch.Tensor, torch.nn.Parameter):
            continue
        guard = source.guard_source
        if guard.is_unspecialized_nn_module() and not guard.is_fsdp_module():
            found[index] = source
    return found


def guard(sources: Mapping[int, Any], frozen: Iterable[int]) -> None:
    """Let the weights by which a graph was compiled be those that it is called with."""
    install_guard(*(sources[index].make_guard(same_object) for index in frozen))
