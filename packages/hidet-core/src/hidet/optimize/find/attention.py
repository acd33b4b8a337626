"""Attention that a model spells out, found and made one operator."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

from hidet import ops, options
from hidet.compute.sizes import Shape, broadcast, same, same_shape
from hidet.graph.apply import apply, placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import rewrite_from
from hidet.graph.tensor import Node, Tensor
from hidet.ops.elementwise.select import Where
from hidet.ops.products.attention import Attention
from hidet.ops.products.matmul import Matmul
from hidet.ops.reductions.softmax import Softmax
from hidet.ops.tensors.shape import Expand, Permute, Reshape
from hidet.optimize.constants import Readers
from hidet.optimize.find.attention_scores import Scores, behind_casts, keeps_rows, scores_of
from hidet.optimize.normalize import again, before_reshape, maker, value_of
from hidet.types import bf16, f16, f32


def find_attention(graph: FlowGraph) -> FlowGraph:
    """Make one operator of a product, a scale, a mask, a softmax and a product.

    before   s = matmul(q, k^T) / 8 + mask;  y = matmul(softmax(s), v)
    after    y = attention(q, k, v, mask, scale=1 / 8)

    Masks may be added, or chosen by `where` with a very low number, several of them, before the
    scale or after it; the scale may be of each head, or a number of each operand. Functions of
    scores ahead of masks, as where these are held within bounds, become `steps`. Batch and heads
    may be one axis for products. Where several heads of q read one of k and v that was repeated for
    them, it is read once. A row that keeps nothing gives zeros, where softmax gives NaN, also where
    a model says so by `where(isnan(p), 0, p)`: what is NaN for its operands' sake stays NaN.
    Without the option `attention` nothing changes.
    """
    if not options.attention.get():
        return graph
    readers = Readers(graph)
    inner = {each for node in graph.nodes for each in node.outputs if has_one_use(each, readers)}
    single: set[Tensor] = set()

    def change(original: Node, node: Node) -> tuple[Tensor, ...] | None:
        single.update(
            now for before, now in zip(original.inputs, node.inputs, strict=True) if before in inner
        )
        with tracing(), placed(node.place):
            found = attention_of(node, single)
            found = with_grouped_heads(node) if found is None else found
            found = with_own_scale(node) if found is None else found
        return None if found is None else (found,)

    return rewrite_from(graph, change)


def attention_of(node: Node, single: set[Tensor]) -> Tensor | None:
    """The attention that ends in this product, if one does: softmax(s) @ v, or v^T @ softmax(s)^T,
    as images have it."""
    op = node.op
    if not isinstance(op, Matmul) or op.dtype not in (None, node.inputs[0].dtype):
        return None
    a, b = node.inputs
    found = None if op.transpose_a else of_weights(a, b, op.transpose_b, single)
    if found is None and op.transpose_b:
        found = of_weights(b, a, not op.transpose_a, single)
        return None if found is None else ops.transpose(found)
    return found


def of_weights(weights: Tensor, v: Tensor, transposed: bool, single: set[Tensor]) -> Tensor | None:
    """weights @ v (or v^T) as attention, if the weights are a softmax of products."""
    softmax = softmax_behind(weights, single)
    found = None if softmax is None else scores_of(softmax.inputs[0], single)
    if found is None or not same_shape(weights.shape[:-2], v.shape[:-2]):
        return None
    product, scores = found
    lead = lead_of(weights, product.outputs[0], scores)
    if lead is None or not same_shape(product.inputs[0].shape[:-2], product.inputs[1].shape[:-2]):
        return None
    op = product.op
    assert isinstance(op, Matmul)
    a, b = product.inputs
    (a, of_a), (b, of_b) = unscaled(a), unscaled(b)
    scores = replace(scores, scale=scores.scale * of_a * of_b)
    q = turned(a, lead, op.transpose_a)
    k = turned(b, lead, not op.transpose_b)
    v = turned(v, lead, transposed)
    if scores.factor is not None:
        q = q * scores.factor
    if not fits(q, k, v, scores.mask):
        return None
    y = ops.attention(q, k, v, scores.mask, scale=scores.scale, steps=scores.steps)
    made = maker(y)
    grouped = None if made is None else with_grouped_heads(made)
    return view(y if grouped is None else grouped, weights.shape[:-2])


def softmax_behind(tensor: Tensor, single: set[Tensor]) -> Node | None:
    """The softmax over the last axis behind weights, which may have another batch since, and zeros
    for what is no number."""
    made = behind_casts(tensor, single)
    while made is not None and (keeps_rows(made) or cleaned(made) is not None):
        inner = cleaned(made)
        made = behind_casts(made.inputs[0] if inner is None else inner, single)
    if made is None or not isinstance(made.op, Softmax):
        return None
    (weights,) = made.outputs
    return made if made.op.axis == weights.ndim - 1 and weights in single else None


def cleaned(node: Node) -> Tensor | None:
    """What a node gives as it is, except for zeros where that is no number; None if it does not.

    Exporters write it behind a softmax, for rows that keep nothing.
    """
    if not isinstance(node.op, Where) or value_of(node.inputs[1]) != 0:
        return None
    test, x = maker(node.inputs[0]), node.inputs[2]
    is_test = test is not None and test.op.name == "isnan" and test.inputs[0] is x
    return x if is_test and same_shape(x.shape, node.outputs[0].shape) else None


def has_one_use(x: Tensor, readers: Readers) -> bool:
    """Whether one node reads a tensor; one that has zeros for what is no number counts as one."""
    found = readers.of(x)
    return len(found) == 1 or (len(found) == 2 and any(cleaned(node) is x for node in found))


def unscaled(x: Tensor) -> tuple[Tensor, float]:
    """A tensor of which `x`, whose elements may have been moved since, is a multiple, and by what
    number; 1 times `x` if it is none."""
    made = maker(x)
    if made is not None and isinstance(made.op, Reshape | Permute):
        source, times = unscaled(made.inputs[0])
        if times == 1:
            return x, 1.0
        return apply(type(made.op), source, **made.op.attributes()), times
    if made is None or made.op.name not in ("multiply", "divide"):
        return x, 1.0
    pairs = [made.inputs] if made.op.name == "divide" else [made.inputs, made.inputs[::-1]]
    for other, number in pairs:
        factor = value_of(number)
        if factor and other.type == x.type:
            return other, float(factor) if made.op.name == "multiply" else 1 / float(factor)
    return x, 1.0


def lead_of(weights: Tensor, product: Tensor, scores: Scores) -> Shape | None:
    """Batch and heads as the mask has them, or as both products do; None if there are no such."""
    rows = product.shape[-2]
    if not same(weights.shape[-2], rows):
        return None
    if same(scores.shape[-2], rows):
        return tuple(scores.shape[:-2]) or (1,)
    plain = scores.mask is None and scores.factor is None
    return tuple(product.shape[:-2]) if plain else None


def view(x: Tensor, lead: Shape) -> Tensor:
    """A tensor with other axes ahead of the last two, as it was before it was given those."""
    shape = (*lead, *x.shape[-2:])
    if same_shape(x.shape, shape):
        return x
    source = before_reshape(x)
    return source if same_shape(source.shape, shape) else ops.reshape(source, shape)


def turned(x: Tensor, lead: Shape, really: bool) -> Tensor:
    """A view of the transpose of the last two axes, if `really`, else of the tensor."""
    if not really:
        return view(x, lead)
    source = before_reshape(x)
    if source.ndim > 1 and same_shape(source.shape[-2:], x.shape[-2:]):
        return view(again(ops.transpose(source)), lead)
    return again(ops.transpose(view(x, lead)))


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


def with_own_scale(node: Node) -> Tensor | None:
    """An attention of multiples of q and k that has these numbers in its scale: a matmul that makes
    q then ends as those of k and v do, and is one with them."""
    op = node.op
    if not isinstance(op, Attention) or options.round_each.get():
        return None
    q, k, v, mask = op.arrange(node.inputs)
    (plain_q, of_q), (plain_k, of_k) = unscaled(q), unscaled(k)
    scale = op.scale * of_q * of_k
    if of_q * of_k == 1 or not isfinite(scale):
        return None
    return ops.attention(plain_q, plain_k, v, mask, causal=op.causal, scale=scale, steps=op.steps)


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
    return ops.attention(q, once_k, once_v, mask, causal=op.causal, scale=op.scale, steps=op.steps)


def unrepeated(x: Tensor) -> Tensor | None:
    """The tensor whose heads, each several times in a row, are those of x[..., heads, n, d]."""
    joined = maker(x)
    if joined is not None and isinstance(joined.op, Expand):
        (narrow,) = joined.inputs
        one = same_shape(narrow.shape, (*x.shape[:-3], 1, *x.shape[-2:]))
        return narrow if one and not same(x.shape[-3], 1) else None
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
