"""Updates of a part of a tensor, written where the tensor lies instead of into a new one."""

from __future__ import annotations

from dataclasses import replace

from hidet.graph import Node, Tensor
from hidet.ops.indexing.scatter import IndexPut, ScatterAlong
from hidet.ops.tensors.slicing import SliceScatter


def in_place(updated: Tensor) -> Tensor | None:
    """The update that made `updated`, written in the memory of the tensor that it updates.

    None if `updated` was not made by an update (scatter, index_put, slice_scatter and their like).

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
    """The tensor in whose memory `tensor` lies, after one or several updates in place."""
    while (before := updated_tensor(tensor)) is not None:
        tensor = before
    return tensor


def updated_tensor(tensor: Tensor) -> Tensor | None:
    """The tensor in whose memory an update wrote `tensor`; None if `tensor` has its own memory."""
    if tensor.trace is None or not getattr(tensor.trace[0].op, "in_place", False):
        return None
    return tensor.trace[0].inputs[0]
