"""Convolutional networks that were written as NHWC (channels last), as NCHW (channels first)."""

from __future__ import annotations

from typing import Any

from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node, Tensor
from hidet.ops.conv import Conv
from hidet.ops.layout import to_last, to_second
from hidet.ops.pool import Pool
from hidet.ops.shape import Permute
from hidet.optimize.layouts import Layouts, Made, Rules


def channels_first(graph: FlowGraph) -> FlowGraph:
    """Let what stands between convolutions run with channels in axis 1, as these do.

    before   y = permute(conv(permute(x)));  z = permute(conv(permute(relu(y))))
    after    t = relu(conv(permute(x)));  z = permute(conv(t))

    TensorFlow's networks come so. A permutation is left where such a region begins and where it
    ends; channels are in axis 1 where later passes look for them.
    """
    read = [node.inputs[0] for node in graph.nodes if isinstance(node.op, Conv | Pool)]
    if not any(is_turned(each) for each in read):
        return graph
    return Layouts(graph, to_second, to_last, RULES).run()


def is_turned(x: Tensor) -> bool:
    """Whether an image had its channels last before."""
    made = None if x.trace is None else x.trace[0].op
    return isinstance(made, Permute) and made.axes == to_second(x.ndim)


def permuted(layouts: Layouts, node: Node) -> Made | None:
    """One into the other order finds it there; one out of it is not needed yet."""
    op: Any = node.op
    (x,) = node.inputs
    if op.axes == layouts.order(x.ndim) and x in layouts.other:
        return Made(layouts.other[x], turned=False)
    return Made(layouts.as_it_was(x)) if op.axes == layouts.back(x.ndim) else None


RULES: Rules = ((Permute, permuted),)
