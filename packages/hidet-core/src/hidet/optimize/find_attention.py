"""Attention that a model spells out, found and made one operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hidet import ops
from hidet.compute.sizes import broadcast, same, same_shape
from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import rewrite
from hidet.graph.tensor import Node, Tensor
from hidet.ops.attention import Attention
from hidet.ops.cast import Cast
from hidet.ops.matmul import Matmul
from hidet.ops.select import Where
from hidet.ops.shape import Expand, Reshape
from hidet.ops.softmax import Softmax
from hidet.optimize.constants import Readers
from hidet.optimize.normalize import maker, value_of
from hidet.types import bf16, f16, f32

NEVER = -1e4
"""What is added to a score, or put in its place, so that its weight is nothing."""


@dataclass(frozen=True)
class Scores:
    """What is known of the way back from the softmax to the product of queries and keys."""

    scale: float = 1.0
    mask: Tensor | None = None


def find_attention(graph: FlowGraph) -> FlowGraph:
    """Make one operator of a product, a scale, a mask, a softmax and a product.

    before   s = matmul(q, k^T) / 8 + mask;  y = matmul(softmax(s), v)
    after    y = attention(q, k, v, mask, scale=1 / 8)

    The mask may be added, or chosen by `where` with a very low number; the scale is applied before
    it. Where several heads of q read one of k and v that was repeated for them, it is read once. A
    row that keeps nothing gives zeros, where softmax gives NaN.
    """
    readers = Readers(graph)
    inner = {each for node in graph.nodes for each in node.outputs if readers.only(each)}
    originals = iter(graph.nodes)
    single: set[Tensor] = set()

    def change(node: Node) -> tuple[Tensor, ...] | None:
        original = next(originals)
        single.update(
            now for before, now in zip(original.inputs, node.inputs, strict=True) if before in inner
        )
        with tracing(), placed(node.place):
            found = attention_of(node, single)
            found = with_grouped_heads(node) if found is None else found
        return None if found is None else (found,)

    return rewrite(graph, change)


def attention_of(node: Node, single: set[Tensor]) -> Tensor | None:
    """The attention that ends in this product, if one does."""
    op = node.op
    if not isinstance(op, Matmul) or op.transpose_a or op.dtype not in (None, node.inputs[0].dtype):
        return None
    weights, right = node.inputs
    softmax = behind_casts(weights, single)
    if softmax is None or not isinstance(softmax.op, Softmax):
        return None
    if softmax.op.axis != weights.ndim - 1 or softmax.outputs[0] not in single:
        return None
    found = scores_of(softmax.inputs[0], single)
    if found is None:
        return None
    product, scores = found
    keys = product.inputs[1]
    q, k = product.inputs[0], keys if product.op.transpose_b else ops.transpose(keys)  # type: ignore[attr-defined]
    v = ops.transpose(right) if op.transpose_b else right
    if not fits(q, k, v, scores.mask) or not same_shape(node.outputs[0].shape[:-2], q.shape[:-2]):
        return None
    return ops.attention(q, k, v, scores.mask, scale=scores.scale)


def behind_casts(tensor: Tensor, single: set[Tensor]) -> Node | None:
    """What makes a tensor, apart from casts between floats that nobody else reads."""
    while (made := maker(tensor)) is not None and tensor in single:
        if not isinstance(made.op, Cast) or not made.inputs[0].dtype.is_float:
            return made
        (tensor,) = made.inputs
    return None


def scores_of(tensor: Tensor, single: set[Tensor]) -> tuple[Node, Scores] | None:
    """The product behind scores, and what is done to it on the way."""
    known = Scores()
    while (made := behind_casts(tensor, single)) is not None:
        if isinstance(made.op, Matmul):
            return (made, known) if not made.op.transpose_a else None
        step = next(filter(None, (rule(made, known, single) for rule in STEPS)), None)
        if step is None:
            return None
        tensor, known = step
    return None


Step = Callable[[Node, Scores, set[Tensor]], "tuple[Tensor, Scores] | None"]


def scaled(node: Node, known: Scores, single: set[Tensor]) -> tuple[Tensor, Scores] | None:
    """Scores times a number, or by one."""
    if node.op.name not in ("multiply", "divide"):
        return None
    left, right = node.inputs
    number = value_of(right)
    if number is not None and node.outputs[0].shape == left.shape:
        times = float(number) if node.op.name == "multiply" else 1 / float(number)
        return left, replace(known, scale=known.scale * times)
    number = value_of(left)
    if number is not None and node.op.name == "multiply" and node.outputs[0].shape == right.shape:
        return right, replace(known, scale=known.scale * float(number))
    return None


def masked(node: Node, known: Scores, single: set[Tensor]) -> tuple[Tensor, Scores] | None:
    """Scores plus a mask; the scale comes before it."""
    if node.op.name != "add" or known.mask is not None or known.scale != 1.0:
        return None
    for scores, mask in (node.inputs, node.inputs[::-1]):
        whole = same_shape(scores.shape, node.outputs[0].shape) and scores in single
        if whole and mask.dtype.is_float and leads_to_product(scores, single):
            return scores, replace(known, mask=mask)
    return None


def leads_to_product(tensor: Tensor, single: set[Tensor]) -> bool:
    """Whether scores lie behind a tensor, not a mask."""
    return scores_of(tensor, single) is not None


def chosen(node: Node, known: Scores, single: set[Tensor]) -> tuple[Tensor, Scores] | None:
    """Scores where a mask holds (or does not), and a very low number elsewhere."""
    if not isinstance(node.op, Where) or known.mask is not None or known.scale != 1.0:
        return None
    condition, x, y = node.inputs
    low = value_of(y) if value_of(y) is not None else value_of(x)
    scores = x if value_of(y) is not None else y
    if low is None or low > NEVER or not same_shape(scores.shape, node.outputs[0].shape):
        return None
    if low == float("-inf"):
        return scores, replace(known, mask=condition if scores is x else ops.logical_not(condition))
    zero = ops.full((), 0.0, f32, device=condition.device)
    far = ops.full((), float(low), f32, device=condition.device)
    pair = (zero, far) if scores is x else (far, zero)
    return scores, replace(known, mask=ops.where(condition, *pair))


STEPS: tuple[Step, ...] = (scaled, masked, chosen)


def fits(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> bool:
    """Whether the operator takes these operands."""
    if q.ndim < 3 or not q.ndim == k.ndim == v.ndim:
        return False
    if q.dtype not in (f16, bf16, f32) or q.dtype is not k.dtype or q.dtype is not v.dtype:
        return False
    if not same_shape(q.shape[:-2], k.shape[:-2]) or not same_shape(k.shape[:-1], v.shape[:-1]):
        return False
    scores = (*q.shape[:-1], k.shape[-2])
    return mask is None or same_shape(broadcast(mask.shape, scores), scores)


# ---- heads that several of q share --------------------------------------------------------------


def with_grouped_heads(node: Node) -> Tensor | None:
    """An attention of k and v that were repeated for each head of q, reading them as they were."""
    op = node.op
    if not isinstance(op, Attention):
        return None
    q, k, v, mask = op.arrange(node.inputs)
    once_k, once_v = unrepeated(k), unrepeated(v)
    if once_k is None or once_v is None or not same(once_k.shape[-3], once_v.shape[-3]):
        return None
    return ops.attention(q, once_k, once_v, mask, causal=op.causal, scale=op.scale)


def unrepeated(x: Tensor) -> Tensor | None:
    """The tensor whose heads, each several times in a row, are those of x[..., heads, n, d]."""
    joined = maker(x)
    repeated = maker(joined.inputs[0]) if joined is not None else None
    if joined is None or repeated is None or not isinstance(joined.op, Reshape):
        return None
    if not isinstance(repeated.op, Expand):
        return None
    (narrow,) = repeated.inputs
    wide = repeated.outputs[0]
    axis = x.ndim - 2  # [..., heads, times, n, d]
    if narrow.ndim != x.ndim + 1 or not same(narrow.shape[axis], 1):
        return None
    others = [place for place in range(wide.ndim) if place != axis]
    if not all(same(narrow.shape[place], wide.shape[place]) for place in others):
        return None
    outer, inner = x.shape[:-3], x.shape[-2:]
    if not same_shape((*outer, *inner), (*wide.shape[: axis - 1], *wide.shape[axis + 1 :])):
        return None
    return ops.reshape(narrow, tuple(narrow.shape[place] for place in others))
