"""Convolutional networks that were written as NHWC (channels last), as NCHW (channels first)."""

from __future__ import annotations

from typing import Any

from hidet.compute.sizes import same, same_shape
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node, Tensor
from hidet.ops.conv import Conv
from hidet.ops.layout import to_last, to_second
from hidet.ops.pool import Pool
from hidet.ops.shape import Permute, Reshape
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


def reshaped(layouts: Layouts, node: Node) -> Made | None:
    """The same where only axes of size 1 move, which a reshape does: gates of channels."""
    (x,), shape = node.inputs, node.outputs[0].shape
    if x.ndim < 3 or x.ndim != len(shape) or same_shape(x.shape, shape):
        return None
    entering, leaving = (
        same_shape(tuple(x.shape[axis] for axis in order(x.ndim)), shape)
        for order in (layouts.order, layouts.back)
    )
    places = [size for size in x.shape[1:] if not same(size, 1)]
    if len(places) > 1 or not (entering or leaving):
        return None
    if entering and x in layouts.other:
        return Made(layouts.other[x], turned=False)
    return Made(layouts.as_it_was(x)) if leaving else None


RULES: Rules = ((Permute, permuted), (Reshape, reshaped))
