"""Scalars and ranges become a copy for each operator that reads them, on its device."""

from __future__ import annotations

from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import rewrite
from hidet.graph.tensor import Node, Tensor


def duplicate_creators(graph: FlowGraph) -> FlowGraph:
    """Give each reader of a tensor that is made from nothing a copy of its own, where it runs.

    before   s = full(2.0);  y = x * s;  z = y + s
    after    s = full(2.0);  s_1 = full(2.0);  y = x * s;  z = y + s_1

    Such tensors cost nothing where they are used, and a kernel each if they are shared, or are made
    on another device, as files of models name none.
    """
    return rewrite(graph, with_own_creators)


def with_own_creators(node: Node) -> tuple[Tensor, ...] | None:
    """The node reading fresh copies of what is made from nothing."""
    if not any(made_from_nothing(each) for each in node.inputs):
        return None
    inputs = tuple(
        copied(each, node.device) if made_from_nothing(each) else each for each in node.inputs
    )
    return Node(node.op, inputs, node.place, node.device).outputs


def made_from_nothing(tensor: Tensor) -> bool:
    """Whether a node without operands, that costs nothing, makes the tensor."""
    if tensor.storage is not None or tensor.trace is None:
        return False
    node, _ = tensor.trace
    return not node.inputs and not node.op.costly


def copied(tensor: Tensor, device: str) -> Tensor:
    """The same tensor from a node of its own on a device."""
    assert tensor.trace is not None
    node, place = tensor.trace
    return Node(node.op, (), node.place, device).outputs[place]
