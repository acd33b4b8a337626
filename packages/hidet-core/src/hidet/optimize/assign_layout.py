"""Convolutional networks with their channels last, where the target's schedules gain by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hidet import ops
from hidet.compute import Kind
from hidet.compute.sizes import same, same_shape
from hidet.graph.apply import apply, placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.kinds import kind_of
from hidet.graph.operator import Op
from hidet.graph.rewrite import reading
from hidet.graph.tensor import Node, Tensor
from hidet.ops.adaptive_pool import AdaptiveAvgPool, AdaptiveMaxPool
from hidet.ops.channel_norm import BatchNorm, GroupNorm
from hidet.ops.conv import Conv
from hidet.ops.joining import Concat
from hidet.ops.layout import to_last, to_second
from hidet.ops.pad import Pad
from hidet.ops.pool import AvgPool, MaxPool
from hidet.ops.reduce import Reduction
from hidet.ops.slicing import Slice
from hidet.ops.softmax import AlongAxis
from hidet.optimize.blocks import has_blocks, in_blocks
from hidet.optimize.constants import Constants


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
    return Layouts(graph, gains, slower).run()


@dataclass(frozen=True)
class Made:
    """What became of an operator's result."""

    tensor: Tensor
    last: bool = True
    """Whether its channels are last; else its axes are in their order."""


Rule: TypeAlias = "Callable[[Layouts, Node], Made | None]"


class Layouts:
    """One graph on its way: what its tensors became, in their order or with channels last."""

    def __init__(
        self, graph: FlowGraph, gains: Callable[[Conv], bool], slower: Callable[[Op, Op], bool]
    ) -> None:
        self.graph, self.gains, self.slower = graph, gains, slower
        self.constants = Constants(graph)
        self.own: dict[Tensor, Tensor] = {}
        self.last: dict[Tensor, Tensor] = {}
        self.turned: dict[Tensor, Tensor] = {}
        """What is there in one order, turned to the other one; for all who ask."""

    def run(self) -> FlowGraph:
        """The whole graph."""
        for node in self.graph.nodes:
            with tracing(), placed(node.place):
                if not self.follows(node):
                    now = reading(node, tuple(map(self.as_it_was, node.inputs)))
                    self.own.update(zip(node.outputs, now.outputs, strict=True))
        with tracing():
            outputs = [self.as_it_was(each) for each in self.graph.outputs]
        return self.graph.with_outputs(outputs)

    def follows(self, node: Node) -> bool:
        """Compute a node with channels last, if it may and what it reads is so already."""
        if node.op.kind != "kernels" or len(node.outputs) != 1:
            return False
        rule = next((rule for kinds, rule in RULES if isinstance(node.op, kinds)), elementwise)
        found = rule(self, node)
        if found is not None:
            (self.last if found.last else self.own)[node.outputs[0]] = found.tensor
        return found is not None

    def as_it_was(self, x: Tensor) -> Tensor:
        """What became of a tensor, its axes in their order."""
        if x in self.own or x not in self.last:
            return self.own.get(x, x)
        return self.turn(self.last[x], to_second(x.ndim))

    def channels_last(self, x: Tensor) -> Tensor:
        """What became of a tensor, its channels last."""
        if x in self.last:
            return self.last[x]
        return self.turn(self.own.get(x, x), to_last(x.ndim))

    def turn(self, x: Tensor, axes: tuple[int, ...]) -> Tensor:
        """A tensor with its axes in another order: a new shape where only axes of size 1 move."""
        if x not in self.turned:
            real = [axis for axis in axes if not same(x.shape[axis], 1)]
            shape = [x.shape[axis] for axis in axes]
            free = real == sorted(real)
            self.turned[x] = ops.reshape(x, shape) if free else ops.permute(x, axes)
        return self.turned[x]


# ---- what operators become where an operand has its channels last; None: they stay ------------


def convolution(layouts: Layouts, node: Node) -> Made | None:
    """One that gains by it, or that follows such a one; its weight has to be known."""
    op: Any = node.op
    x, weight, bias = op.arrange(node.inputs)
    if op.channels_last or weight not in layouts.constants:
        return None
    if x not in layouts.last and not layouts.gains(op):
        return None
    image, taps = layouts.channels_last(x), layouts.channels_last(weight)
    shift = None if bias is None else layouts.as_it_was(bias)
    how = {name: getattr(op, name) for name in ("stride", "padding", "dilation", "groups", "dtype")}
    made = convolved(image, taps, shift, **how)
    if x not in layouts.last and op.dtype is None and has_blocks(op):
        other = convolved(*in_blocks(op, layouts.as_it_was(x), layouts.as_it_was(weight)), shift)
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


def with_channels_last(layouts: Layouts, node: Node) -> Made | None:
    """An operator on one image that can be told where the channels are."""
    op: Any = node.op
    x, *rest = node.inputs
    if x not in layouts.last or op.channels_last:
        return None
    others = [layouts.as_it_was(each) for each in rest]
    return Made(again(op, [layouts.last[x], *others], channels_last=True))


def adaptive_pool(layouts: Layouts, node: Node) -> Made | None:
    """One to a single place is a reduction."""
    op: Any = node.op
    (x,) = node.inputs
    if x not in layouts.last or x.ndim != len(op.size) + 2 or any(size != 1 for size in op.size):
        return None
    combine = ops.mean if isinstance(op, AdaptiveAvgPool) else ops.max
    return Made(combine(layouts.last[x], tuple(range(1, x.ndim - 1)), keepdims=True))


def reduction(layouts: Layouts, node: Node) -> Made | None:
    """Over the same axes, wherever they are; what is left has to be in its order."""
    op: Any = node.op
    (x,) = node.inputs
    if x not in layouts.last:
        return None
    order = to_last(x.ndim)
    left = [axis for axis in order if axis not in op.axes]
    if not op.keepdims and left != sorted(left):
        return None
    axes = tuple(sorted(order.index(axis) for axis in op.axes))
    return Made(again(op, [layouts.last[x]], axes=axes), last=op.keepdims)


def along_axis(layouts: Layouts, node: Node) -> Made | None:
    """Along the same axis, wherever it is."""
    op: Any = node.op
    if not any(each in layouts.last for each in node.inputs):
        return None
    axis = to_last(node.inputs[0].ndim).index(op.axis)
    return Made(again(op, [layouts.channels_last(each) for each in node.inputs], axis=axis))


def each_axis(*names: str) -> Rule:
    """An operator on one tensor with attributes that have an entry for each axis."""

    def rule(layouts: Layouts, node: Node) -> Made | None:
        op: Any = node.op
        (x,) = node.inputs
        if x not in layouts.last:
            return None
        order = to_last(x.ndim)
        moved = {name: tuple(getattr(op, name)[axis] for axis in order) for name in names}
        return Made(again(op, [layouts.last[x]], **moved))

    return rule


def elementwise(layouts: Layouts, node: Node) -> Made | None:
    """A function of elements at one index, broadcast; whatever says nothing of axes."""
    op: Any = node.op
    shape = node.outputs[0].shape
    if not any(x in layouts.last and same_shape(x.shape, shape) for x in node.inputs):
        return None
    if any(isinstance(each, tuple) for each in op.attributes().values()):
        return None
    if kind_of(op) is not Kind.ELEMENTWISE:
        return None
    return Made(again(op, [aligned(layouts, x, len(shape)) for x in node.inputs]))


def aligned(layouts: Layouts, x: Tensor, rank: int) -> Tensor:
    """An operand that broadcasts to an image, as one that does with channels last."""
    if all(same(size, 1) for size in x.shape):
        return layouts.as_it_was(x)
    if x.ndim == rank:
        return layouts.channels_last(x)
    wide = ops.reshape(layouts.as_it_was(x), (1,) * (rank - x.ndim) + tuple(x.shape))
    return layouts.turn(wide, to_last(rank))


def again(op: Op, inputs: Sequence[Tensor], **changes: Any) -> Tensor:
    """The result of an operator on other tensors, with some attributes changed."""
    return apply(op.operator_class(), *op.arrange(list(inputs)), **op.attributes() | changes)


RULES: tuple[tuple[type[Op] | tuple[type[Op], ...], Rule], ...] = (
    (Conv, convolution),
    ((MaxPool, AvgPool, BatchNorm, GroupNorm), with_channels_last),
    ((AdaptiveAvgPool, AdaptiveMaxPool), adaptive_pool),
    (Reduction, reduction),
    ((Concat, AlongAxis), along_axis),
    (Slice, each_axis("starts", "sizes", "steps")),
    (Pad, each_axis("widths")),
)
"""What becomes of operators by their kind; others are elementwise, or stay."""
