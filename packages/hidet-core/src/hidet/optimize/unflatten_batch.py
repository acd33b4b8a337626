"""Products whose batch was made one axis for them have it back."""

from __future__ import annotations

from hidet import ops
from hidet.compute.sizes import same_shape
from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import rewrite_from
from hidet.graph.tensor import Node, Tensor
from hidet.ops.products.matmul import Matmul
from hidet.ops.tensors.shape import Reshape
from hidet.optimize.constants import Readers
from hidet.optimize.normalize import before_reshape, maker


def unflatten_batch(graph: FlowGraph) -> FlowGraph:
    """Undo what PyTorch makes of a product in a batch of several axes.

    before   y = reshape(matmul(reshape(q, (24, 9, 8)), reshape(k, (24, 8, 9))), (2, 12, 9, 9))
    after    y = matmul(q, k)

    Attention is looked for in this form.
    """
    readers = Readers(graph)

    def change(original: Node, node: Node) -> tuple[Tensor, ...] | None:
        if not isinstance(node.op, Reshape) or readers.only(original.inputs[0]) is None:
            return None
        with tracing(), placed(node.place):
            found = product_behind(node)
        return None if found is None else (found,)

    return rewrite_from(graph, change)


def product_behind(node: Node) -> Tensor | None:
    """The product that a reshape gives more axes, with these axes from the start, where an operand
    had them before."""
    product, shape = maker(node.inputs[0]), node.outputs[0].shape
    if product is None or not isinstance(product.op, Matmul):
        return None
    if not same_shape(shape[-2:], product.outputs[0].shape[-2:]):
        return None
    if any(each.ndim != 3 for each in product.inputs):
        return None
    sources = [before_reshape(each) for each in product.inputs]
    shapes = [(*shape[:-2], *each.shape[-2:]) for each in product.inputs]
    there = [same_shape(x.shape, whole) for x, whole in zip(sources, shapes, strict=True)]
    if not any(there):
        return None
    a, b = (
        x if ready else ops.reshape(x, whole)
        for x, ready, whole in zip(sources, there, shapes, strict=True)
    )
    op = product.op
    return ops.matmul(a, b, transpose_a=op.transpose_a, transpose_b=op.transpose_b, dtype=op.dtype)
