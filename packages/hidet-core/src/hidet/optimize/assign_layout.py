"""Convolutional networks with their channels last, where the target's schedules gain by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hidet import ops
from hidet.compute.sizes import same
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import Op
from hidet.graph.tensor import Node, Tensor
from hidet.ops.adaptive_pool import AdaptiveAvgPool, AdaptiveMaxPool
from hidet.ops.channel_norm import BatchNorm, GroupNorm
from hidet.ops.conv import Conv
from hidet.ops.layout import to_last, to_second
from hidet.ops.pool import AvgPool, MaxPool
from hidet.optimize.blocks import has_blocks, in_blocks
from hidet.optimize.constants import Constants
from hidet.optimize.layouts import Layouts, Made, Rules, again


def assign_layout(
    graph: FlowGraph,
    gains: Callable[[Conv], bool] = lambda op: False,
    slower: Callable[[Op, Op], bool] = lambda op, other: False,
) -> FlowGraph:
    """Let convolutions that gain by it, and what follows them, run with their channels last.

    before   y = relu(conv(x, w));  z = max_pool(y)
    after    t = relu(conv(permute(x), permute(w), channels_last));  u = max_pool(t, channels_last)
             z = permute(u)

    A permutation is left where such a region begins and where it ends; those of weights are
    computed once. A convolution of single places is a linear layer there. Inputs and outputs of the
    graph keep their order. Convolutions of few channels are in blocks of pixels (`blocks.py`) where
    `slower` says so of the plain one and that one.
    """
    if not any(isinstance(node.op, Conv) and gains(node.op) for node in graph.nodes):
        return graph
    return ChannelsLast(graph, gains, slower).run()


class ChannelsLast(Layouts):
    """One graph on its way, the other order being that of channels last."""

    def __init__(
        self, graph: FlowGraph, gains: Callable[[Conv], bool], slower: Callable[[Op, Op], bool]
    ) -> None:
        super().__init__(graph, to_last, to_second, RULES)
        self.gains, self.slower = gains, slower
        self.constants = Constants(graph)


# ---- what operators become where an operand has its channels last; None: they stay ------------


def convolution(layouts: ChannelsLast, node: Node) -> Made | None:
    """One that gains by it, or that follows such a one; its weight has to be known."""
    op: Any = node.op
    x, weight, bias = op.arrange(node.inputs)
    if op.channels_last or weight not in layouts.constants:
        return None
    if x not in layouts.other and not layouts.gains(op):
        return None
    image, taps = layouts.in_other_order(x), layouts.in_other_order(weight)
    shift = None if bias is None else layouts.as_it_was(bias)
    how = {name: getattr(op, name) for name in ("stride", "padding", "dilation", "groups", "dtype")}
    made = convolved(image, taps, shift, **how)
    if x not in layouts.other and has_blocks(op):
        blocks = in_blocks(op, layouts.as_it_was(x), layouts.as_it_was(weight))
        other = convolved(*blocks, shift, dtype=op.dtype)
        made = other if layouts.slower(operator_of(made), operator_of(other)) else made
    return Made(made)


def convolved(image: Tensor, taps: Tensor, shift: Tensor | None, **how: Any) -> Tensor:
    """A convolution with channels last: a linear layer where it can be one."""
    made = ops.conv(image, taps, shift, channels_last=True, **how)
    if not is_linear(operator_of(made)):
        return made
    matrix = ops.reshape(taps, (taps.shape[0], taps.shape[-1]))
    dtype = how.get("dtype")
    if dtype is None:
        return ops.linear(image, matrix, shift)
    found = ops.matmul(image, matrix, transpose_b=True, dtype=dtype)
    return found if shift is None else found + ops.cast(shift, found.dtype)


def operator_of(x: Tensor) -> Any:
    """What computes a tensor."""
    assert x.trace is not None
    return x.trace[0].op


def is_linear(op: Conv) -> bool:
    """Whether each place of the result is a matrix times the same place of x."""
    return op.groups == 1 and all(
        same(window, 1) and step == 1 and around == (0, 0)
        for window, step, around in zip(op.window, op.stride, op.padding, strict=True)
    )


def with_channels_last(layouts: ChannelsLast, node: Node) -> Made | None:
    """An operator on one image that can be told where the channels are."""
    op: Any = node.op
    x, *rest = node.inputs
    if x not in layouts.other or op.channels_last:
        return None
    others = [layouts.as_it_was(each) for each in rest]
    return Made(again(op, [layouts.other[x], *others], channels_last=True))


def adaptive_pool(layouts: ChannelsLast, node: Node) -> Made | None:
    """One to a single place is a reduction."""
    op: Any = node.op
    (x,) = node.inputs
    if x not in layouts.other or x.ndim != len(op.size) + 2 or any(size != 1 for size in op.size):
        return None
    combine = ops.mean if isinstance(op, AdaptiveAvgPool) else ops.max
    return Made(combine(layouts.other[x], tuple(range(1, x.ndim - 1)), keepdims=True))


RULES: Rules = (
    (Conv, convolution),
    ((MaxPool, AvgPool, BatchNorm, GroupNorm), with_channels_last),
    ((AdaptiveAvgPool, AdaptiveMaxPool), adaptive_pool),
)
"""What becomes of operators that know where channels are."""
