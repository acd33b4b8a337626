"""Inputs that lie in memory in another order of axes than their callers see, read as they lie.

A graph says what is computed of its inputs; how these lie is said where it is built. Channels-last
images are an example: axes (batch, channels, rows, columns), in memory in the order (0, 2, 3, 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from hidet import seams
from hidet.build.called import names
from hidet.errors import BadArgument, input_called
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import outputs_from
from hidet.graph.tensor import Tensor
from hidet.types import TensorType
from hidet.types.strides import inverse

Order: TypeAlias = tuple[int, ...]
Orders: TypeAlias = Mapping[str, Sequence[int]]
"""The axes of inputs, outermost in memory first, by the inputs' names."""
IN_ROWS: Orders = MappingProxyType({})


def orders_of(graph: FlowGraph, given: Orders) -> list[Order]:
    """For each input the order of its axes in memory; BadArgument for one that is no order."""
    known = names([each.name for each in graph.inputs])
    for name in given:
        if name not in known:
            raise BadArgument(
                f"there is an order for an input {name!r}, which the graph has not",
                help=f"inputs: {', '.join(known) or 'none'}",
            )
    found = []
    for name, tensor in zip(known, graph.inputs, strict=True):
        rows = tuple(range(tensor.ndim))
        order = tuple(given.get(name, rows))
        if tuple(sorted(order)) != rows:
            raise BadArgument(
                f"{input_called(name)} cannot lie in the order {order}",
                help=f"name each of its axes once, outermost in memory first: {rows} are rows",
            )
        found.append(order)
    return found


def as_laid(graph: FlowGraph, orders: Sequence[Order]) -> FlowGraph:
    """The same graph for inputs that have their axes in these orders."""
    inputs = [laid(each, order) for each, order in zip(graph.inputs, orders, strict=True)]
    moved = [at for at, each in enumerate(inputs) if each is not graph.inputs[at]]
    if not moved:
        return graph
    permute = seams.call("load_operators")["permute"]
    new = {graph.inputs[at]: permute(inputs[at], inverse(orders[at])) for at in moved}
    return graph.with_outputs(outputs_from(graph, new), inputs)


def laid(tensor: Tensor, order: Order) -> Tensor:
    """An input as it lies; itself if that is in rows."""
    if order == tuple(range(tensor.ndim)):
        return tensor
    of = TensorType(tensor.dtype, tuple(tensor.shape[axis] for axis in order))
    return Tensor(of, tensor.device, name=tensor.name)
