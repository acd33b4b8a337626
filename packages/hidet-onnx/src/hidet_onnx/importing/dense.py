"""Dense layers, which ONNX writes as a product and a sum."""

from __future__ import annotations

from hidet import ops
from hidet.graph import FlowGraph, Node, Tensor
from hidet.graph.apply import placed, tracing
from hidet.graph.rewrite import rewrite_from
from hidet.ops.elementwise.families import Binary
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.tensors.shape import Permute

Users = dict[Tensor, list[Node]]


def with_dense_layers(graph: FlowGraph) -> FlowGraph:
    """Make `linear` of products with a weight of the model, and of a bias added to one.

    before   y = matmul(x, weight) + bias
    after    y = linear(x, permute(weight), bias)

    It is what a dense layer is in other frameworks' graphs, too: passes merge such layers, take
    norms into them and choose their kernels. The weight is turned once, before the first call, back
    to what the framework held. Products of two matrices stay: PyTorch exports those as they are,
    and a dense layer of them as Gemm.
    """
    users = graph.users()
    outputs = set(graph.outputs)

    def change(original: Node, node: Node) -> tuple[Tensor, ...] | None:
        with tracing(), placed(node.place):
            found = linear(node)
            if found is None and isinstance(node.op, Binary) and node.op.name == "add":
                found = biased(original, node, users, outputs)
        return None if found is None else (found,)

    return rewrite_from(graph, change)


def linear(node: Node) -> Tensor | None:
    """The product by a matrix that the model holds, as a dense layer without a bias."""
    op = node.op
    if not isinstance(op, Matmul) or op.transpose_a or op.dtype is not None or op.a.ndim < 3:
        return None
    x, weight = node.inputs
    if weight.ndim != 2 or is_held(x):
        return None
    turned = weight if op.transpose_b else turned_weight(weight)
    if turned is None or not (is_held(turned) or is_held(weight)):
        return None
    return ops.linear(x, turned)


def turned_weight(weight: Tensor) -> Tensor | None:
    """The transpose of a matrix: what it is a transpose of, if it is one."""
    made = None if weight.trace is None else weight.trace[0]
    if made is not None and isinstance(made.op, Permute):
        return made.inputs[0]
    return ops.transpose(weight) if is_held(weight) else None


def is_held(tensor: Tensor) -> bool:
    """Whether a tensor's values lie in the model's file."""
    return tensor.storage is not None


def biased(original: Node, node: Node, users: Users, outputs: set[Tensor]) -> Tensor | None:
    """A dense layer with the vector that is added to it as its bias, if nobody else reads it."""
    for number, (product, bias) in enumerate((node.inputs, node.inputs[::-1])):
        made = None if product.trace is None else product.trace[0]
        before = original.inputs[number]
        if made is None or not isinstance(made.op, Linear) or made.op.bias is not None:
            continue
        if before in outputs or len(users[before]) != 1:
            continue
        fits = is_held(bias) and bias.shape == (product.shape[-1],)
        if fits and product.type == node.outputs[0].type and bias.dtype is product.dtype:
            x, weight = made.inputs
            return ops.linear(x, weight, bias)
    return None
