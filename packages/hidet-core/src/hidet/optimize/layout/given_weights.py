"""Convolutions whose weights each call brings, as where a function is given a model's parameters:
whether these are turned to channels last in each call."""

from __future__ import annotations

from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Tensor
from hidet.ops.windows.conv import Conv
from hidet.optimize.constants import Constants
from hidet.optimize.layout.channels_last import (
    Saving,
    attributes_of,
    convolved,
    operator_of,
    turned,
)


def turning_pays(graph: FlowGraph, constants: Constants, saving: Saving) -> bool:
    """Whether such convolutions save more, all together, than it takes to turn the image of the
    first and the result of the last: between them they follow each other."""
    given = [
        node.op
        for node in graph.nodes
        if isinstance(node.op, Conv) and node.inputs[1] not in constants
    ]
    if not given:
        return False
    first, last = given[0], given[-1]
    ends = saving(first, first, [first.x]) + saving(last, last, [*last.results()])
    return sum(max(0.0, saved_by_turning(op, saving)) for op in given) + ends > 0


def saved_by_turning(op: Conv, saving: Saving) -> float:
    """The seconds that a convolution saves by channels last if its weight is turned first."""
    if op.channels_last:
        return 0.0
    image, taps = Tensor(turned(op.x)), Tensor(turned(op.weight))
    shift = None if op.bias is None else Tensor(op.bias)
    other = operator_of(convolved(image, taps, shift, **attributes_of(op)))
    return saving(op, other, [taps.type])
