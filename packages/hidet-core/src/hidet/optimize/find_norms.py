"""Layer norms that a model spells out, made one operator each."""

from __future__ import annotations

from hidet import ops
from hidet.compute.sizes import same_shape
from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import rewrite
from hidet.graph.tensor import Node, Tensor
from hidet.ops.norm import LayerNorm
from hidet.ops.reduce import Mean
from hidet.optimize.normalize import maker, value_of


def find_norms(graph: FlowGraph) -> FlowGraph:
    """Make one operator of a layer norm, with what scales and shifts its elements.

    before   c = x - mean(x);  y = c / sqrt(mean(c * c) + eps) * weight + bias
    after    y = layer_norm(x, weight, bias)
    """

    def change(node: Node) -> tuple[Tensor, ...] | None:
        with tracing(), placed(node.place):
            found = normed(node)
            found = scaled(node) if found is None else found
        return None if found is None or found.type != node.outputs[0].type else (found,)

    return rewrite(graph, change)


def normed(node: Node) -> Tensor | None:
    """A layer norm without weights that ends in this quotient or product."""
    if node.op.name == "divide":
        total = argument(node.inputs[1], "sqrt")
        return None if total is None else norm_of(node.inputs[0], total)
    if node.op.name != "multiply":
        return None
    for centred, factor in (node.inputs, node.inputs[::-1]):
        total, inverse = argument(factor, "rsqrt"), argument(factor, "reciprocal")
        if inverse is not None:
            total = argument(inverse, "sqrt")
        found = None if total is None else norm_of(centred, total)
        if found is not None:
            return found
    return None


def norm_of(centred: Tensor, inside: Tensor) -> Tensor | None:
    """The layer norm of x, where `centred` is x - mean(x), and `inside` its variance plus eps."""
    difference, total = maker(centred), maker(inside)
    if difference is None or difference.op.name != "subtract":
        return None
    if total is None or total.op.name != "add":
        return None
    x, mean = difference.inputs
    first = mean_over_last(mean)
    if first is None or first[0] is not x:
        return None
    for variance, eps in (total.inputs, total.inputs[::-1]):
        number, second = value_of(eps), mean_over_last(variance)
        if number is None or second is None or second[1] != first[1]:
            continue
        square = maker(second[0])
        if square is not None and is_square(square, centred):
            return ops.layer_norm(x, axes=first[1], eps=float(number))
    return None


def argument(x: Tensor, name: str) -> Tensor | None:
    """What a function was computed of; None if `x` is not made by it."""
    made = maker(x)
    return made.inputs[0] if made is not None and made.op.name == name else None


def mean_over_last(x: Tensor) -> tuple[Tensor, tuple[int, ...]] | None:
    """What a mean over the last axes, which it keeps, was taken of, and these axes."""
    made = maker(x)
    if made is None or not isinstance(made.op, Mean) or not made.op.keepdims:
        return None
    of, axes = made.inputs[0], made.op.axes
    last = tuple(range(of.ndim - len(axes), of.ndim))
    return (of, axes) if axes == last and x.dtype is of.dtype else None


def is_square(node: Node, of: Tensor) -> bool:
    """Whether a node gives a tensor times itself."""
    if node.op.name == "square":
        return node.inputs[0] is of
    return node.op.name == "multiply" and all(each is of for each in node.inputs)


def scaled(node: Node) -> Tensor | None:
    """A layer norm with the weight, then with the bias that this node brings."""
    if node.op.name not in ("multiply", "add") or len(node.inputs) != 2:
        return None
    for y, given in (node.inputs, node.inputs[::-1]):
        made = maker(y)
        if made is None or not isinstance(made.op, LayerNorm) or given.dtype is not y.dtype:
            continue
        op, axes = made.op, made.op.axes
        if not same_shape(given.shape, y.shape[axes[0] :]) or op.bias is not None:
            continue
        x = made.inputs[0]
        if node.op.name == "multiply" and op.weight is None:
            return ops.layer_norm(x, given, axes=axes, eps=op.eps)
        if node.op.name == "add" and op.weight is not None:
            return ops.layer_norm(x, made.inputs[1], given, axes=axes, eps=op.eps)
    return None
