"""Masks of attention that a model computes from sizes alone, read for what they say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from hidet.compute import Computed
from hidet.compute.sizes import same_shape
from hidet.graph.apply import placed, tracing
from hidet.graph.evaluate import evaluate
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import rewrite
from hidet.graph.tensor import Node, Tensor
from hidet.ir.algebra import simplify_expression
from hidet.ir.bounds import Bounds
from hidet.ir.expr import Const, LessEqual
from hidet.ops import attention
from hidet.ops.products.attention import Attention
from hidet.optimize.find.elements import elements, within
from hidet.types import Size

Array: TypeAlias = np.ndarray[Any, Any]

MOST_ELEMENTS = 2**24
"""Of one tensor on the way to a mask: more take longer to read than it saves."""
NEVER = -1e4
"""What is added to a score so that its weight is nothing."""


def read_masks(graph: FlowGraph) -> FlowGraph:
    """Drop masks that keep everything, or what `causal` keeps as well.

    before   mask = less_equal(arange(n), arange(m)[:, None]);  y = attention(q, k, v, mask)
    after    y = attention(q, k, v, causal=True)

    A mask is read if it depends on nothing: neither on inputs, nor on constants, which may change.
    Of known sizes its elements are computed; where only calls tell sizes they are expressions.
    """
    read: dict[Tensor, Computed | Array | None] = {}

    def change(node: Node) -> tuple[Tensor, ...] | None:
        op = node.op
        if not isinstance(op, Attention) or op.mask is None:
            return None
        q, k, v, mask = op.arrange(node.inputs)
        if mask not in read:
            read[mask] = kept_of(mask) if is_known(mask) else elements(mask)
        causal = says(read[mask], op)
        if causal is None:
            return None
        with tracing(), placed(node.place):
            found = attention(q, k, v, causal=causal or op.causal, scale=op.scale, steps=op.steps)
            return (found,)

    return rewrite(graph, change)


def is_known(mask: Tensor) -> bool:
    """Whether a mask, and all that it is made of, has known sizes that are not too large."""
    return all(is_small(each.shape) for each in behind(mask))


def is_small(shape: Sequence[Size]) -> bool:
    """Whether sizes are known, and come to few elements."""
    sizes = [size for size in shape if isinstance(size, int)]
    return len(sizes) == len(shape) and prod(sizes) <= MOST_ELEMENTS


def kept_of(mask: Tensor) -> Array | None:
    """What a mask keeps, as an array of bools; None if that is not known, or not all or nothing."""
    if not all(is_made(each) for each in behind(mask)):
        return None
    (found,) = evaluate(FlowGraph([], [mask]))
    if found.dtype == bool:
        return found
    kept: Array = found == 0
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
    """Whether an operator makes a tensor."""
    return tensor.trace is not None and tensor.trace[0].op.kind == "kernels"


def says(kept: Computed | Array | None, op: Attention) -> bool | None:
    """True if what is kept is what `causal` keeps, False if all is; else None."""
    if isinstance(kept, Computed):
        return says_by_index(kept, op)
    m, n = op.scores()[-2:]
    if kept is None or not isinstance(m, int) or not isinstance(n, int):
        return None
    if kept.all():
        return False
    lower = np.tri(m, n, dtype=bool)
    same = kept.shape[-2:] == lower.shape and bool((kept == lower).all())
    return True if same else None


def says_by_index(mask: Computed, op: Attention) -> bool | None:
    """The same of expressions: whether they keep an element wherever its column is none after its
    row, and none elsewhere."""
    bounds = within(mask)
    if keeps(mask, bounds):
        return False
    if not same_shape(mask.shape[-2:], op.scores()[-2:]):
        return None
    row, column = mask.vars[-2:]
    before = LessEqual(column, row)
    kept = keeps(mask, bounds.assume(before)), keeps(mask, bounds.assume(before, holds=False))
    return True if kept == (True, False) else None


def keeps(mask: Computed, bounds: Bounds) -> bool | None:
    """Whether a mask keeps all elements with an index within bounds, or none; else None."""
    value = simplify_expression(mask.value, bounds)
    if not isinstance(value, Const):
        return None
    if mask.dtype.is_bool:
        return bool(value.value)
    number = float(value.value)
    return True if number == 0 else (False if number <= NEVER else None)
