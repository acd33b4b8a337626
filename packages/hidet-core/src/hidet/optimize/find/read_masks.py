"""Masks of attention that a model computes from sizes alone, read for what they say."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np

from hidet.graph.apply import placed, tracing
from hidet.graph.evaluate import evaluate
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import rewrite
from hidet.graph.tensor import Node, Tensor
from hidet.ops import attention
from hidet.ops.products.attention import Attention

MOST_ELEMENTS = 2**24
"""Of one tensor on the way to a mask: more take longer to read than it saves."""
NEVER = -1e4
"""What is added to a score so that its weight is nothing."""


def read_masks(graph: FlowGraph) -> FlowGraph:
    """Drop masks that keep everything, or what `causal` keeps as well.

    before   mask = less_equal(arange(n), arange(m)[:, None]);  y = attention(q, k, v, mask)
    after    y = attention(q, k, v, causal=True)

    A mask is read if it depends on nothing: neither on inputs, nor on constants, which may change.
    """
    read: dict[Tensor, Any] = {}

    def change(node: Node) -> tuple[Tensor, ...] | None:
        op = node.op
        if not isinstance(op, Attention) or op.mask is None:
            return None
        q, k, v, mask = op.arrange(node.inputs)
        if mask not in read:
            read[mask] = kept_of(mask)
        causal = says(read[mask], op)
        if causal is None:
            return None
        with tracing(), placed(node.place):
            found = attention(q, k, v, causal=causal or op.causal, scale=op.scale, steps=op.steps)
            return (found,)

    return rewrite(graph, change)


def kept_of(mask: Tensor) -> Any:
    """What a mask keeps, as an array of bools; None if that is not known, or not all or nothing."""
    if not all(is_made(each) for each in behind(mask)):
        return None
    (found,) = evaluate(FlowGraph([], [mask]))
    if found.dtype == bool:
        return found
    kept = found == 0
    return kept if (kept | (found <= NEVER)).all() else None


def behind(tensor: Tensor) -> Iterable[Tensor]:
    """All tensors that a tensor is made of, and itself."""
    seen = {tensor: None}
    pending = [tensor]
    while pending:
        made = pending.pop().trace
        new = [each for each in (made[0].inputs if made else ()) if each not in seen]
        seen.update(dict.fromkeys(new))
        pending += new
    return seen


def is_made(tensor: Tensor) -> bool:
    """Whether an operator makes a tensor, of known sizes that are not too large."""
    sizes = [size for size in tensor.shape if isinstance(size, int)]
    small = len(sizes) == tensor.ndim and prod(sizes) <= MOST_ELEMENTS
    return small and tensor.trace is not None and tensor.trace[0].op.kind == "kernels"


def says(kept: Any, op: Attention) -> bool | None:
    """True if what is kept is what `causal` keeps, False if all is; else None."""
    m, n = op.scores()[-2:]
    if kept is None or not isinstance(m, int) or not isinstance(n, int):
        return None
    if kept.all():
        return False
    lower = np.tri(m, n, dtype=bool)
    same = kept.shape[-2:] == lower.shape and bool((kept == lower).all())
    return True if same else None
