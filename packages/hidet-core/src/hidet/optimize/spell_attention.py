"""Attention as two products and a softmax between them, where no schedule computes it whole."""

from __future__ import annotations

from collections.abc import Callable

from hidet.compute import accumulator
from hidet.compute.sizes import same
from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import Op
from hidet.graph.rewrite import rewrite
from hidet.graph.tensor import Node, Tensor
from hidet.ir.expr import wrap
from hidet.ops.products.attention import Attention
from hidet.ops.products.attention_weights import attention_weights
from hidet.ops.products.matmul import matmul
from hidet.ops.tensors.shape import reshape


def spell_attention(
    graph: FlowGraph, scheduled: Callable[[Op], bool] = lambda op: False
) -> FlowGraph:
    """Write attention out where no schedule computes it whole, as `scheduled` says.

    before   y = attention(q, k, v, mask)
    after    s = matmul(q, k^T);  w = attention_weights(s, mask);  y = matmul(w, v)

    Scores are of float32 at least. Where one head of k and v serves several of q, these become
    rows of one product.
    """
    return rewrite(graph, lambda node: None if scheduled(node.op) else spelled(node))


def spelled(node: Node) -> tuple[Tensor, ...] | None:
    """The operators that stand for an attention."""
    op = node.op
    if not isinstance(op, Attention):
        return None
    q, k, v, mask = op.arrange(node.inputs)
    with tracing(), placed(node.place):
        shared = not same(q.shape[-3], k.shape[-3])
        if shared:
            times = wrap(q.shape[-3]) // k.shape[-3]
            q = reshape(q, (*q.shape[:-3], k.shape[-3], times * q.shape[-2], q.shape[-1]))
        scores = matmul(q, k, transpose_b=True, dtype=accumulator(q.dtype))
        scores = reshape(scores, op.scores())
        weights = attention_weights(
            scores, mask, causal=op.causal, scale=op.scale, dtype=op.q.dtype, steps=op.steps
        )
        if shared:
            weights = reshape(weights, (*q.shape[:-1], v.shape[-2]))
        return (reshape(matmul(weights, v), op.infer().shape),)
