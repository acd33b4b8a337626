"""Convolutional networks with their channels last, where the target's schedules gain by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hidet import ops
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node
from hidet.ops.reductions.channel_norm import BatchNorm, GroupNorm
from hidet.ops.tensors.layout import to_last, to_second
from hidet.ops.windows.adaptive_pool import AdaptiveAvgPool, AdaptiveMaxPool
from hidet.ops.windows.conv import Conv
from hidet.ops.windows.pool import AvgPool, MaxPool
from hidet.optimize.constants import Constants
from hidet.optimize.layout.blocks import has_blocks, in_blocks
from hidet.optimize.layout.channels_last import (
    Saving,
    attributes_of,
    convolved,
    no_saving,
    operator_of,
)
from hidet.optimize.layout.given_weights import saved_by_turning, turning_pays
from hidet.optimize.layout.layouts import Layouts, Made, Rules, again


def assign_layout(
    graph: FlowGraph,
    prefers: Callable[[Conv], bool] = lambda op: False,
    saving: Saving = no_saving,
) -> FlowGraph:
    """Let convolutions that gain by it, and what follows them, run with their channels last.

    before   y = relu(conv(x, w));  z = max_pool(y)
    after    t = relu(conv(permute(x), permute(w), channels_last));  u = max_pool(t, channels_last)
             z = permute(u)

    A permutation is left where such a region begins and where it ends; those of weights are
    computed once. A convolution of single places is a linear layer there. Inputs and outputs of the
    graph keep their order. Convolutions of few channels are in blocks of pixels (`blocks.py`) where
    that saves time. Weights that each call brings are turned in each call: that has to pay.
    """
    if not any(isinstance(node.op, Conv) and prefers(node.op) for node in graph.nodes):
        return graph
    return ChannelsLast(graph, prefers, saving).run()


class ChannelsLast(Layouts):
    """One graph on its way, the other order being that of channels last."""

    def __init__(self, graph: FlowGraph, prefers: Callable[[Conv], bool], saving: Saving) -> None:
        super().__init__(graph, to_last, to_second, RULES)
        self.prefers, self.saving = prefers, saving
        self.constants = Constants(graph)
        self.transposes_weights = turning_pays(graph, self.constants, saving)
        """Whether convolutions whose weights each call brings may have channels last."""


# ---- what operators become where an operand has its channels last; None: they stay ------------


def convolution(layouts: ChannelsLast, node: Node) -> Made | None:
    """One that prefers it, or that follows such a one; turning a weight that each call brings has
    to pay."""
    op: Any = node.op
    x, weight, bias = op.arrange(node.inputs)
    known, follows = weight in layouts.constants, x in layouts.other
    if op.channels_last or not (follows or layouts.prefers(op)):
        return None
    if not (known or (layouts.transposes_weights and saved_by_turning(node, layouts.saving) > 0)):
        return None
    image, taps = layouts.in_other_order(x), layouts.in_other_order(weight)
    shift = None if bias is None else layouts.as_it_was(bias)
    made = convolved(image, taps, shift, **attributes_of(op))
    if known and not follows and has_blocks(op):
        blocks = in_blocks(op, layouts.as_it_was(x), layouts.as_it_was(weight))
        other = convolved(*blocks, shift, dtype=op.dtype)
        saved = layouts.saving(operator_of(made), operator_of(other), [blocks[0].type])
        made = other if saved > 0 else made
    return Made(made)


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
