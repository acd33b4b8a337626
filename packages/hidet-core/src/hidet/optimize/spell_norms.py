"""Batch norms that no product takes into its weights, as a factor and a summand."""

from __future__ import annotations

from hidet import ops
from hidet.compute import accumulator
from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import rewrite_from
from hidet.graph.tensor import Node, Tensor
from hidet.ops.reductions.channel_norm import BatchNorm
from hidet.optimize.constants import Constants
from hidet.optimize.merge.fold_scale import affine


def spell_norms(graph: FlowGraph) -> FlowGraph:
    """Write batch norms as one factor and one summand for each channel.

    before   y = batch_norm(x, mean, var, gamma, beta)
    after    y = x * s + (beta - mean * s)  where s = gamma * rsqrt(var + eps)

    Both are computed once, before the first call, in the type of sums: where they are used, an
    element takes two operations, and no root.
    """
    constants = Constants(graph)

    def change(original: Node, node: Node) -> tuple[Tensor, ...] | None:
        known = isinstance(node.op, BatchNorm) and all(e in constants for e in original.inputs[1:])
        return (spelled(node),) if known and original.inputs[0] not in constants else None

    return rewrite_from(graph, change)


def spelled(node: Node) -> Tensor:
    """The operators that stand for a batch norm."""
    op, x = node.op, node.inputs[0]
    assert isinstance(op, BatchNorm)
    with tracing(), placed(node.place):
        factor, summand = affine(node)
        column = (-1,) + (1,) * (x.ndim - 1 - op.axis)
        scaled = ops.cast(x, accumulator(x.dtype)) * ops.reshape(factor, column)
        return ops.cast(scaled + ops.reshape(summand, column), x.dtype)
