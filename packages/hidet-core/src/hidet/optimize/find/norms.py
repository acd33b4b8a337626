"""Layer norms that a model spells out, made one operator each."""

from __future__ import annotations

from hidet import ops
from hidet.compute.sizes import same_shape
from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import rewrite
from hidet.graph.tensor import Node, Tensor
from hidet.ops.reductions.norm import LayerNorm
from hidet.ops.reductions.reduce import Mean
from hidet.optimize.normalize import maker, value_of


def find_norms(graph: FlowGraph) -> FlowGraph:
    """Make one operator of a layer norm, with what scales and shifts its elements.

    before   c = x - mean(x);  y = c / sqrt(mean(c * c) + eps) * weight + bias
    after    y = layer_norm(x, weight, bias)

    Also where it is x * f + (bias - mean(x) * f), with f = weight / sqrt(...), as Keras has it.
    """

    def change(node: Node) -> tuple[Tensor, ...] | None:
        with tracing(), placed(node.place):
            found = normed(node)
            found = scaled(node) if found is None else found
            found = by_factor(node) if found is None else found
        return None if found is None or found.type != node.outputs[0].type else (found,)

    return rewrite(graph, change)


def normed(node: Node) -> Tensor | None:
    """A layer norm without weights that ends in this quotient or product."""
    if node.op.name == "divide":
        total = argument(node.inputs[1], "sqrt")
        return None if total is None else norm_of(node.inputs[0], total)
    if node.op.name != "multiply":
        return None
    for centred, factor in pairs(node):
        total = under_root(factor)
        found = None if total is None else norm_of(centred, total)
        if found is not None:
            return found
    return None


def under_root(x: Tensor) -> Tensor | None:
    """The tensor of which `x` is one over the root."""
    inverse = argument(x, "reciprocal")
    return argument(x, "rsqrt") if inverse is None else argument(inverse, "sqrt")


def pairs(node: Node) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The two operands in both orders."""
    return node.inputs, node.inputs[::-1]


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
    for variance, eps in pairs(total):
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
    for y, given in pairs(node):
        found = with_weight(y, given) if node.op.name == "multiply" else with_bias(y, given)
        if found is not None:
            return found
    return None


def with_weight(y: Tensor, weight: Tensor) -> Tensor | None:
    """A layer norm that has no weight yet, with one."""
    made = maker(y)
    if made is None or not isinstance(made.op, LayerNorm) or made.op.weight is not None:
        return None
    flat = as_inner(weight, y, made.op.axes)
    if flat is None:
        return None
    return ops.layer_norm(made.inputs[0], flat, axes=made.op.axes, eps=made.op.eps)


def with_bias(y: Tensor, bias: Tensor) -> Tensor | None:
    """A layer norm that has a weight and no bias yet, with one."""
    made = maker(y)
    if made is None or not isinstance(made.op, LayerNorm):
        return None
    flat = as_inner(bias, y, made.op.axes)
    if flat is None or made.op.weight is None or made.op.bias is not None:
        return None
    x, weight = made.inputs
    return ops.layer_norm(x, weight, flat, axes=made.op.axes, eps=made.op.eps)


def as_inner(given: Tensor, y: Tensor, axes: tuple[int, ...]) -> Tensor | None:
    """A weight in the shape of the axes that are normed; None if it is not one for each place."""
    inner = y.shape[axes[0] :]
    shape = (*(1 for _ in y.shape[given.ndim :]), *given.shape)
    wanted = (*(1 for _ in y.shape[: axes[0]]), *inner)
    if given.dtype is not y.dtype or given.ndim > y.ndim or not same_shape(shape, wanted):
        return None
    return given if same_shape(given.shape, inner) else ops.reshape(given, inner)


# ---- by one factor and one summand --------------------------------------------------------------


def by_factor(node: Node) -> Tensor | None:
    """x * f + (bias - mean * f), where f is one over the deviation, perhaps times a weight."""
    if node.op.name != "add":
        return None
    for left, shift in pairs(node):
        made = maker(left)
        if made is None or made.op.name != "multiply":
            continue
        for x, factor in pairs(made):
            found = shifted(x, factor, shift)
            if found is not None:
                return found
    return None


def shifted(x: Tensor, factor: Tensor, shift: Tensor) -> Tensor | None:
    """The layer norm that is x * factor + shift, if it is one."""
    made = maker(factor)
    parts = () if made is None or made.op.name != "multiply" else pairs(made)
    for inverse, weight in ((factor, None), *parts):
        total = under_root(inverse)
        centred = None if total is None else squared_in(total)
        norm = None if centred is None or total is None else norm_of(centred, total)
        difference = None if centred is None else maker(centred)
        if norm is None or difference is None or difference.inputs[0] is not x:
            continue
        y = norm if weight is None else with_weight(norm, weight)
        mean = difference.inputs[1]
        if y is None or is_less(shift, mean, factor):
            return y
        sum_ = maker(shift)
        if sum_ is None or sum_.op.name not in ("add", "subtract"):
            continue
        for part, bias in pairs(sum_) if sum_.op.name == "add" else ():
            if is_less(part, mean, factor):
                return with_bias(y, bias)
        if sum_.op.name == "subtract" and is_product(sum_.inputs[1], mean, factor):
            return with_bias(y, sum_.inputs[0])
    return None


def squared_in(total: Tensor) -> Tensor | None:
    """The tensor whose mean square is a summand of another."""
    made = maker(total)
    for variance in () if made is None or made.op.name != "add" else made.inputs:
        mean = mean_over_last(variance)
        square = None if mean is None else maker(mean[0])
        if square is not None and square.op.name in ("square", "multiply"):
            return square.inputs[0]
    return None


def is_less(x: Tensor, mean: Tensor, factor: Tensor) -> bool:
    """Whether x is -mean * factor."""
    made = maker(x)
    if made is not None and made.op.name == "negative":
        return is_product(made.inputs[0], mean, factor)
    found = made is not None and made.op.name == "multiply" and made
    orders = pairs(found) if found else ()
    return any(argument(a, "negative") is mean and b is factor for a, b in orders)


def is_product(x: Tensor, mean: Tensor, factor: Tensor) -> bool:
    """Whether x is mean * factor."""
    made = maker(x)
    is_one = made is not None and made.op.name == "multiply"
    return made is not None and is_one and any(a is mean and b is factor for a, b in pairs(made))
