"""Networks with some tensors' axes in another order: what follows which operators do so too."""

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
from hidet.ops.reductions.reduce import Reduction
from hidet.ops.reductions.softmax import AlongAxis
from hidet.ops.resampling.enlarge import Enlarge
from hidet.ops.resampling.resample import Resample
from hidet.ops.tensors.joining import Concat
from hidet.ops.tensors.pad import Pad
from hidet.ops.tensors.slicing import Slice

Order: TypeAlias = Callable[[int], tuple[int, ...]]
"""An order of so many axes."""


@dataclass(frozen=True)
class Made:
    """What became of an operator's result."""

    tensor: Tensor
    turned: bool = True
    """Whether its axes are in the other order; else they are as they were."""


Rule: TypeAlias = "Callable[[Any, Node], Made | None]"
"""What becomes of a node, given the `Layouts`; None: its operands come in their own order."""
Rules: TypeAlias = tuple[tuple[type[Op] | tuple[type[Op], ...], Rule], ...]


class Layouts:
    """One graph on its way: what its tensors became, in their own order or in the other one.

    `order` are the axes of a tensor that brings it into the other order, `back` those that undo it.
    `rules` say what begins with the other order; `PROPAGATION` what goes on with it.
    """

    def __init__(self, graph: FlowGraph, order: Order, back: Order, rules: Rules) -> None:
        self.graph, self.order, self.back = graph, order, back
        self.rules = (*rules, *PROPAGATION)
        self.own: dict[Tensor, Tensor] = {}
        self.other: dict[Tensor, Tensor] = {}
        self.turned: dict[Tensor, Tensor] = {}
        """What is there in one order, turned to the other one; for all who ask."""

    def run(self) -> FlowGraph:
        """The whole graph, whose inputs and outputs keep their order."""
        for node in self.graph.nodes:
            with tracing(), placed(node.place):
                if not self.follows(node):
                    now = reading(node, tuple(map(self.as_it_was, node.inputs)))
                    self.own.update(zip(node.outputs, now.outputs, strict=True))
        with tracing():
            outputs = [self.as_it_was(each) for each in self.graph.outputs]
        return self.graph.with_outputs(outputs)

    def follows(self, node: Node) -> bool:
        """Compute a node in the other order, if it may and what it reads is so already."""
        if node.op.kind != "kernels" or len(node.outputs) != 1:
            return False
        rule = next((rule for kinds, rule in self.rules if isinstance(node.op, kinds)), elementwise)
        found = rule(self, node)
        if found is not None:
            (self.other if found.turned else self.own)[node.outputs[0]] = found.tensor
        return found is not None

    def as_it_was(self, x: Tensor) -> Tensor:
        """What became of a tensor, its axes in their own order."""
        if x in self.own or x not in self.other:
            return self.own.get(x, x)
        return self.transposed(self.other[x], self.back(x.ndim))

    def in_other_order(self, x: Tensor) -> Tensor:
        """What became of a tensor, its axes in the other order."""
        if x in self.other:
            return self.other[x]
        return self.transposed(self.own.get(x, x), self.order(x.ndim))

    def transposed(self, x: Tensor, axes: tuple[int, ...]) -> Tensor:
        """A tensor with its axes in another order: a new shape where only axes of size 1 move."""
        if x not in self.turned:
            real = [axis for axis in axes if not same(x.shape[axis], 1)]
            shape = [x.shape[axis] for axis in axes]
            free = real == sorted(real)
            self.turned[x] = ops.reshape(x, shape) if free else ops.permute(x, axes)
        return self.turned[x]


# ---- what operators become where an operand is in the other order; None: they stay -------------


def reduction(layouts: Layouts, node: Node) -> Made | None:
    """Over the same axes, wherever they are; what is left has to be in its order."""
    op: Any = node.op
    (x,) = node.inputs
    if x not in layouts.other:
        return None
    order = layouts.order(x.ndim)
    left = [axis for axis in order if axis not in op.axes]
    if not op.keepdims and left != sorted(left):
        return None
    axes = tuple(sorted(order.index(axis) for axis in op.axes))
    return Made(again(op, [layouts.other[x]], axes=axes), turned=op.keepdims)


def along_axis(layouts: Layouts, node: Node) -> Made | None:
    """Along the same axis, wherever it is."""
    op: Any = node.op
    if not any(each in layouts.other for each in node.inputs):
        return None
    axis = layouts.order(node.inputs[0].ndim).index(op.axis)
    return Made(again(op, [layouts.in_other_order(each) for each in node.inputs], axis=axis))


def resampled(layouts: Layouts, node: Node) -> Made | None:
    """The same axes resized, wherever they are."""
    op: Any = node.op
    x, *tables = node.inputs
    if x not in layouts.other:
        return None
    order = layouts.order(x.ndim)
    others = [layouts.as_it_was(each) for each in tables]
    axes = tuple(order.index(axis) for axis in op.axes)
    return Made(again(op, [layouts.other[x], *others], axes=axes))


def each_axis(*names: str) -> Rule:
    """An operator on one tensor with attributes that have an entry for each axis."""

    def rule(layouts: Layouts, node: Node) -> Made | None:
        op: Any = node.op
        (x,) = node.inputs
        if x not in layouts.other:
            return None
        order = layouts.order(x.ndim)
        moved = {name: tuple(getattr(op, name)[axis] for axis in order) for name in names}
        return Made(again(op, [layouts.other[x]], **moved))

    return rule


def elementwise(layouts: Layouts, node: Node) -> Made | None:
    """A function of elements at one index, broadcast; whatever says nothing of axes."""
    op: Any = node.op
    shape = node.outputs[0].shape
    if not any(x in layouts.other and same_shape(x.shape, shape) for x in node.inputs):
        return None
    if any(isinstance(each, tuple) for each in op.attributes().values()):
        return None
    if kind_of(op) is not Kind.ELEMENTWISE:
        return None
    return Made(again(op, [aligned(layouts, x, len(shape)) for x in node.inputs]))


def aligned(layouts: Layouts, x: Tensor, rank: int) -> Tensor:
    """An operand that broadcasts to an image, as one that does in the other order."""
    if all(same(size, 1) for size in x.shape):
        return layouts.as_it_was(x)
    if x.ndim == rank:
        return layouts.in_other_order(x)
    wide = ops.reshape(layouts.as_it_was(x), (1,) * (rank - x.ndim) + tuple(x.shape))
    return layouts.transposed(wide, layouts.order(rank))


def again(op: Op, inputs: Sequence[Tensor], **changes: Any) -> Tensor:
    """The result of an operator on other tensors, with some attributes changed."""
    return apply(op.operator_class(), *op.arrange(list(inputs)), **op.attributes() | changes)


PROPAGATION: Rules = (
    (Reduction, reduction),
    ((Concat, AlongAxis), along_axis),
    ((Resample, Enlarge), resampled),
    (Slice, each_axis("starts", "sizes", "steps")),
    (Pad, each_axis("widths")),
)
"""What operators become by their kind; others are elementwise, or stay."""
