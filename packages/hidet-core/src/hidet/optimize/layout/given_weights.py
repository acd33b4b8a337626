"""Convolutions whose weights each call brings, as where a function is given a model's parameters:
whether these are turned to channels last in each call."""

from __future__ import annotations

from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node, Tensor
from hidet.ops.tensors.shape import Permute
from hidet.ops.windows.conv import Conv
from hidet.optimize.constants import Constants, Readers
from hidet.optimize.layout.channels_last import (
    Saving,
    attributes_of,
    convolved,
    operator_of,
    turned,
)
from hidet.types import TensorType


def turning_pays(graph: FlowGraph, constants: Constants, saving: Saving) -> bool:
    """Whether such convolutions save more, all together, than it takes to turn the image of the
    first and the result of the last: between them they follow each other."""
    given = [
        node
        for node in graph.nodes
        if isinstance(node.op, Conv) and node.inputs[1] not in constants
    ]
    if not given:
        return False
    first, last = given[0], given[-1]
    ends = saving(first.op, first.op, written(first.inputs[0]))
    (result,) = last.outputs
    if not is_read_turned(result, Readers(graph)):
        ends += saving(last.op, last.op, [result.type])
    return sum(max(0.0, saved_by_turning(node, saving)) for node in given) + ends > 0


def saved_by_turning(node: Node, saving: Saving) -> float:
    """The seconds that a convolution saves by channels last if its weight is turned first."""
    op = node.op
    assert isinstance(op, Conv)
    if op.channels_last:
        return 0.0
    image, taps = Tensor(turned(op.x)), Tensor(turned(op.weight))
    shift = None if op.bias is None else Tensor(op.bias)
    other = operator_of(convolved(image, taps, shift, **attributes_of(op)))
    return saving(op, other, written(node.inputs[1]))


def written(tensor: Tensor) -> list[TensorType]:
    """What is written where a tensor is turned to channels last: nothing if it was made of one that
    has them last."""
    made = None if tensor.trace is None else tensor.trace[0].op
    second = (0, tensor.ndim - 1, *range(1, tensor.ndim - 1))
    return [] if isinstance(made, Permute) and made.axes == second else [turned(tensor.type)]


def is_read_turned(tensor: Tensor, readers: Readers) -> bool:
    """Whether all that reads a tensor has its channels last."""
    last = (0, *range(2, tensor.ndim), 1)
    found = readers.of(tensor)
    return bool(found) and all(isinstance(n.op, Permute) and n.op.axes == last for n in found)
