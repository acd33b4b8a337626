"""Convolutional networks that were written as NHWC (channels last), as NCHW (channels first)."""

from __future__ import annotations

from typing import Any

from hidet.compute.sizes import Shape, product, same, same_shape
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node, Tensor
from hidet.ops.indexing.selection import repeat_interleave
from hidet.ops.tensors.joining import Tile
from hidet.ops.tensors.layout import to_last, to_second
from hidet.ops.tensors.shape import Expand, Permute, Reshape
from hidet.ops.windows.conv import Conv
from hidet.ops.windows.pool import Pool
from hidet.optimize.layout.layouts import Layouts, Made, Rules
from hidet.optimize.normalize import maker
from hidet.types import Size


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
    made = maker(x)
    return made is not None and isinstance(made.op, Permute) and made.op.axes == to_second(x.ndim)


def permuted(layouts: Layouts, node: Node) -> Made | None:
    """One into the other order finds it there; one out of it is not needed yet."""
    op: Any = node.op
    (x,) = node.inputs
    if op.axes == layouts.order(x.ndim) and x in layouts.other:
        return Made(layouts.other[x], turned=False)
    return Made(layouts.as_it_was(x)) if op.axes == layouts.back(x.ndim) else None


def reshaped(layouts: Layouts, node: Node) -> Made | None:
    """The same where only axes of size 1 move, which a reshape does: gates of channels. One that
    ends the repetition of rows or columns is that of the axis in the other order."""
    found = repetition(node.inputs[0], node.outputs[0].shape)
    if found is not None and found[0] in layouts.other:
        image = layouts.other[found[0]]
        for axis, count in found[1]:
            image = repeat_interleave(image, count, layouts.order(image.ndim).index(axis))
        return Made(image)
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


def repetition(x: Tensor, shape: Shape) -> tuple[Tensor, list[tuple[int, Size]]] | None:
    """The tensor of which x, as this shape, has each element along some axes several times.

    Beside it are the axes, with how often. So frontends write it: an axis of size 1 after the one
    to repeat is made that large, and both become one.
    """
    widened = maker(x)
    apart = maker(widened.inputs[0]) if widened and isinstance(widened.op, Tile | Expand) else None
    if widened is None or apart is None or not isinstance(apart.op, Reshape):
        return None
    (of,), between, wide = apart.inputs, apart.outputs[0].shape, x.shape
    if len(between) != len(wide):
        return None
    for axis in range(len(wide) - 1):
        before, count, after = between[: axis + 1], wide[axis + 1], between[axis + 2 :]
        whole = (*before[:-1], product((before[-1], count)), *after)
        one = same(between[axis + 1], 1)
        if one and same_shape(wide, (*before, count, *after)) and same_shape(shape, whole):
            plain = (*before, *after)
            found = (of, []) if same_shape(of.shape, plain) else repetition(of, plain)
            return None if found is None else (found[0], [*found[1], (axis, count)])
    return None


RULES: Rules = ((Permute, permuted), (Reshape, reshaped))
