"""Applying operators to tensors: a node each; at once where every value is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from hidet import seams
from hidet.errors import BadArgument, at
from hidet.errors.place import here, standing
from hidet.graph.data_sizes import sizes_in
from hidet.graph.flow import FlowGraph
from hidet.graph.operands import no_tensor
from hidet.graph.operator import Op, flattened
from hidet.graph.tensor import Node, Tensor

_tracing: ContextVar[bool] = ContextVar("tracing", default=False)
_made: ContextVar[list[Node] | None] = ContextVar("made", default=None)


@contextmanager
def tracing() -> Iterator[None]:
    """In this block every operator becomes a node, even of tensors whose values are there."""
    token = _tracing.set(True)
    try:
        yield
    finally:
        _tracing.reset(token)


@contextmanager
def recording() -> Iterator[list[Node]]:
    """In this block every operator becomes a node, which the list that it gives then holds."""
    made: list[Node] = []
    token = _made.set(made)
    try:
        with tracing():
            yield made
    finally:
        _made.reset(token)
        if (outer := _made.get()) is not None:
            outer += made


placed = standing
"""In this block nodes and errors belong to a place in the user's model."""


def apply(kind: type[Op], *operands: Any, device: str | None = None, **attributes: Any) -> Tensor:
    """The one result of an operator; operands are tensors, None or tuples, as its fields say."""
    (result,) = apply_all(kind, *operands, device=device, **attributes)
    return result


def apply_all(
    kind: type[Op], *operands: Any, device: str | None = None, **attributes: Any
) -> tuple[Tensor, ...]:
    """The results of an operator; computed at once if all values and sizes are there and nobody
    traces."""
    node = make_node(kind, *operands, device=device, **attributes)
    if _tracing.get() or not all(map(is_known, node.inputs)) or sizes_in(node):
        return node.outputs
    concrete = [each for each in dict.fromkeys(node.inputs) if each.storage is not None]
    graph, inputs = detached(node, concrete)
    return tuple(seams.call("run_graph", graph, inputs))


def make_node(kind: type[Op], *operands: Any, device: str | None = None, **attributes: Any) -> Node:
    """A node of the operator, typed and placed, never computed."""
    tensors = tuple(flattened(operands))
    place = here()
    with at(place):
        for each in tensors:
            if not isinstance(each, Tensor):
                raise no_tensor(kind.name, each)
        op = kind(*map(types_of, operands), **attributes)
        node = Node(op, tensors, place, common_device(kind.name, tensors, device))
        if (made := _made.get()) is not None:
            made.append(node)
        return node


def types_of(operand: Any) -> Any:
    """The type of an operand; of each, if it is a tuple."""
    match operand:
        case Tensor():
            return operand.type
        case list() | tuple():
            return tuple(map(types_of, operand))
    return operand


def common_device(name: str, tensors: Sequence[Tensor], asked: str | None) -> str:
    """The device of the operands, or the one asked for where there are none."""
    devices = list(dict.fromkeys(each.device for each in tensors))
    if len(devices) > 1:
        raise BadArgument(
            f"the operands of {name} are on {' and '.join(devices)}",
            help="bring them to one device",
        )
    return devices[0] if devices else asked or "cpu"


def is_known(tensor: Tensor) -> bool:
    """Whether the value is there, or computed from nothing (as a scalar's is)."""
    if tensor.storage is not None or tensor.trace is None:
        return tensor.storage is not None
    node = tensor.trace[0]
    return not (node.inputs or sizes_in(node))


def detached(node: Node, concrete: Sequence[Tensor]) -> tuple[FlowGraph, tuple[Tensor, ...]]:
    """A graph of one node (and its scalars) whose inputs stand for the concrete tensors."""
    stand_in = {each: Tensor(each.type, each.device) for each in concrete}
    inputs = tuple(stand_in.get(each, each) for each in node.inputs)
    copy = Node(node.op, inputs, node.place, node.device)
    return FlowGraph(stand_in.values(), copy.outputs, node.op.name), tuple(concrete)
