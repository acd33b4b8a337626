"""Activations that a model spells out, made one operator each."""

from __future__ import annotations

import math

from hidet import ops
from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import rewrite
from hidet.graph.tensor import Node, Tensor
from hidet.optimize.normalize import maker, value_of

Product = tuple[float, list[Tensor]]
"""A number, and the tensors that it is multiplied by."""
CUBIC = 0.044715


def find_activations(graph: FlowGraph) -> FlowGraph:
    """Make one operator of a gelu or a silu.

    before   y = 0.5 * x * (1 + erf(x / sqrt(2)));  z = x * sigmoid(x)
    after    y = gelu(x);  z = silu(x)

    The factors of a gelu may come in any order and number; by erfc or tanh it is found, too. It is
    an operator of one operand: products that end in the same one are computed as one.
    """

    def change(node: Node) -> tuple[Tensor, ...] | None:
        if node.op.name not in ("multiply", "divide") or not node.outputs[0].dtype.is_float:
            return None
        with tracing(), placed(node.place):
            found = silu_of(node)
            found = gelu_of(node.outputs[0]) if found is None else found
        return None if found is None or found.type != node.outputs[0].type else (found,)

    return rewrite(graph, change)


def silu_of(node: Node) -> Tensor | None:
    """x * sigmoid(x)."""
    if node.op.name != "multiply":
        return None
    for x, gate in (node.inputs, node.inputs[::-1]):
        made = maker(gate)
        if made is not None and made.op.name == "sigmoid" and made.inputs[0] is x:
            return ops.silu(x)
    return None


def gelu_of(y: Tensor) -> Tensor | None:
    """x times half of erfc, or of one more than a function that gelu has of x: erf or tanh."""
    number, factors = product_of(y)
    if len(factors) != 2 or not close(number, 0.5):
        return None
    for x, gate in (factors, factors[::-1]):
        whole = maker(gate)
        if whole is not None and whole.op.name == "erfc":
            return ops.gelu(x) if is_multiple(whole.inputs[0], x, -math.sqrt(0.5)) else None
        inner = less_one(gate)
        made = None if inner is None else maker(inner)
        if made is None:
            continue
        if made.op.name == "erf" and is_multiple(made.inputs[0], x, math.sqrt(0.5)):
            return ops.gelu(x)
        if made.op.name == "tanh" and is_cubic(made.inputs[0], x):
            return ops.gelu(x, "tanh")
    return None


def product_of(y: Tensor) -> Product:
    """The factors of what multiplications and divisions by numbers made."""
    number, factors, left = 1.0, [], [y]
    while left:
        each = left.pop()
        made = maker(each)
        value = value_of(each)
        if value is not None:
            number *= float(value)
        elif made is not None and made.op.name == "multiply" and each.type == y.type:
            left += made.inputs[::-1]
        elif made is not None and made.op.name == "divide" and value_of(made.inputs[1]):
            number /= float(value_of(made.inputs[1]) or 1)
            left.append(made.inputs[0])
        elif made is not None and made.op.name == "negative":
            number = -number
            left.append(made.inputs[0])
        else:
            factors.append(each)
    return number, factors


def less_one(x: Tensor) -> Tensor | None:
    """The tensor of which `x` is one more."""
    made = maker(x)
    if made is None or made.op.name != "add":
        return None
    pairs = (made.inputs, made.inputs[::-1])
    return next((other for other, one in pairs if value_of(one) == 1), None)


def is_multiple(y: Tensor, x: Tensor, by: float) -> bool:
    """Whether y is x times a number."""
    number, factors = product_of(y)
    return len(factors) == 1 and factors[0] is x and close(number, by)


def is_cubic(y: Tensor, x: Tensor) -> bool:
    """Whether y is sqrt(2 / pi) * (x + 0.044715 * x^3)."""
    number, factors = product_of(y)
    made = maker(factors[0]) if len(factors) == 1 else None
    if made is None or made.op.name != "add" or not close(number, math.sqrt(2 / math.pi)):
        return False
    pairs = (made.inputs, made.inputs[::-1])
    return any(one is x and is_cube(other, x) for one, other in pairs)


def is_cube(y: Tensor, x: Tensor) -> bool:
    """Whether y is 0.044715 * x^3."""
    number, factors = product_of(y)
    return close(number, CUBIC) and len(factors) == 3 and all(each is x for each in factors)


def close(number: float, to: float) -> bool:
    """Whether a number is another one but for the rounding of its type."""
    return math.isclose(number, to, rel_tol=2e-6)
