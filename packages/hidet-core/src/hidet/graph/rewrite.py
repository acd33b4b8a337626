"""Changing graphs: a new graph from an old one, node by node; what nobody reads is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hidet.errors import InternalError
from hidet.errors.place import standing
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node, Tensor

Change = Callable[[Node], "Sequence[Tensor] | None"]
ChangeFrom = Callable[[Node, Node], "Sequence[Tensor] | None"]


def rewrite(graph: FlowGraph, change: Change) -> FlowGraph:
    """The graph with each node replaced by what `change` says: tensors for its outputs, or None.

    `change` sees the node already reading the new tensors. None keeps it. The same graph comes back
    if nothing changed.
    """
    return rewrite_from(graph, lambda original, node: change(node))


def rewrite_from(graph: FlowGraph, change: ChangeFrom) -> FlowGraph:
    """As `rewrite`, where `change` sees the original node first: what is known of the graph as it
    was, such as who reads what, is known of its nodes and tensors."""
    new: dict[Tensor, Tensor] = {}
    for node in graph.nodes:
        current = reading(node, tuple(new.get(each, each) for each in node.inputs))
        with standing(node.place):  # what takes its place comes from the same line
            results = change(node, current)
        outputs = current.outputs if results is None else tuple(results)
        if tuple(each.type for each in outputs) != tuple(each.type for each in node.outputs):
            raise InternalError(f"{node} was replaced by tensors of other types: {outputs}")
        new.update((a, b) for a, b in zip(node.outputs, outputs, strict=True) if a is not b)
    if not new:
        return graph
    return graph.with_outputs(new.get(each, each) for each in graph.outputs)


def replace(graph: FlowGraph, tensors: dict[Tensor, Tensor]) -> FlowGraph:
    """The graph with some tensors, inputs included, replaced by others of the same type."""
    inputs = [tensors.get(each, each) for each in graph.inputs]
    kept = [each for each in dict.fromkeys(inputs) if each.storage is None and each.trace is None]
    return graph.with_outputs(outputs_from(graph, tensors), kept)


def outputs_from(graph: FlowGraph, tensors: dict[Tensor, Tensor]) -> tuple[Tensor, ...]:
    """What the graph gives where some of its tensors are others of the same type."""
    new = dict(tensors)
    for node in graph.nodes:
        current = reading(node, tuple(new.get(each, each) for each in node.inputs))
        for old, made in zip(node.outputs, current.outputs, strict=True):
            new.setdefault(old, made)
    return tuple(new.get(each, each) for each in graph.outputs)


def reading(node: Node, inputs: tuple[Tensor, ...]) -> Node:
    """The node with other inputs; itself if they are the same."""
    if all(a is b for a, b in zip(node.inputs, inputs, strict=True)):
        return node
    return Node(node.op, inputs, node.place, node.device)
