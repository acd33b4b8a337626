"""Updates of a part of a tensor, written where the tensor lies instead of into a new one."""

from __future__ import annotations

from dataclasses import replace

from hidet.graph import Node, Tensor
from hidet.ops.indexing.scatter import IndexPut, ScatterAlong
from hidet.ops.tensors.slicing import SliceScatter


def in_place(updated: Tensor) -> Tensor | None:
    """The same update of a tensor in the tensor's own memory; None if it is no such update.

    Nothing else may read the tensor: after the update it holds the result.
    """
    if updated.trace is None:
        return None
    node, _ = updated.trace
    if not isinstance(node.op, IndexPut | ScatterAlong | SliceScatter):
        return None
    op = replace(node.op, in_place=True)
    return Node(op, node.inputs, node.place, node.device).outputs[0]


def origin(tensor: Tensor) -> Tensor:
    """The tensor in whose memory `tensor` lies after updates in place, maybe several."""
    while (before := updated_tensor(tensor)) is not None:
        tensor = before
    return tensor


def updated_tensor(tensor: Tensor) -> Tensor | None:
    """The tensor in whose memory an update wrote `tensor`; None if it has memory of its own."""
    if tensor.trace is None or not getattr(tensor.trace[0].op, "in_place", False):
        return None
    return tensor.trace[0].inputs[0]
