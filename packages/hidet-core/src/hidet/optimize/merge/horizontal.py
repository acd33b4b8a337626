"""Products and convolutions of one operand become one, with their weights side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hidet import ops
from hidet.compute import Kind
from hidet.graph import replace
from hidet.graph.apply import apply, placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.kinds import kind_of
from hidet.graph.operator import Op, operand_names
from hidet.graph.tensor import Node, Tensor
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.tensors.shape import Expand, Permute, Reshape
from hidet.ops.tensors.slicing import Slice
from hidet.ops.windows.conv import Conv
from hidet.optimize.constants import Constants, Readers

Key: TypeAlias = tuple[object, ...]
MOVES = (Reshape, Permute, Expand, Slice)


def merge_horizontally(graph: FlowGraph) -> FlowGraph:
    """Compute products that share an operand, and whose weights are known, as one.

    before   q = relu(linear(x, a));  k = relu(linear(x, b))
    after    y = relu(linear(x, concat(a, b)));  q = slice(y, :m);  k = slice(y, m:)

    What all of them do to each element moves along. The slices cost nothing, as the readers take
    them in; a product that ends in an epilogue of its own, or is an output, stays apart.
    """
    while family := next(families(graph), None):
        graph = replace(graph, merged(family))
    return graph


@dataclass(frozen=True)
class Member:
    """A product, and the functions of one element that follow it."""

    node: Node
    tail: tuple[Node, ...]

    @property
    def result(self) -> Tensor:
        """What comes out in the end."""
        return (self.node, *self.tail)[-1].outputs[0]


def families(graph: FlowGraph) -> Iterator[list[Member]]:
    """Products that can be computed as one."""
    constants, readers = Constants(graph), Readers(graph)
    found: dict[Key, list[Member]] = {}
    for node in graph.nodes:
        key = form(node, constants)
        if key is not None:
            member = Member(node, tail_of(node, readers))
            if is_free(member.result, readers):
                key += tuple(without_types(each.op) for each in member.tail)
                found.setdefault(key, []).append(member)
    return (family for family in found.values() if len(family) > 1)


def form(node: Node, constants: Constants) -> Key | None:
    """What products have in common that can be merged: nothing, if this one cannot."""
    op = node.op
    if not isinstance(op, Linear | Matmul | Conv) or node.inputs[0] in constants:
        return None
    if not all(each in constants for each in node.inputs[1:]):
        return None
    weight = node.inputs[1]
    key: Key = (node.inputs[0], type(op), weight.dtype, without_types(op))
    match op:
        case Matmul():
            return key if weight.ndim == 2 and op.a.ndim >= 2 else None
        case Conv():
            return (*key, weight.shape[1:]) if op.groups == 1 else None
    return key


def without_types(op: Op) -> Key:
    """An operator as its kind and attributes."""
    return (type(op), *op.attributes().items())


def tail_of(node: Node, readers: Readers) -> tuple[Node, ...]:
    """The functions of one element that follow a node, each the only reader of the one before."""
    tail: list[Node] = []
    while (following := readers.only((node, *tail)[-1].outputs[0])) and is_function(following):
        tail.append(following)
    return tuple(tail)


def is_function(node: Node) -> bool:
    """Whether it computes each element from the same one of its one operand."""
    op = node.op
    if (
        op.kind != "kernels"
        or isinstance(op, Reshape)
        or len(node.inputs) != 1
        or len(node.outputs) != 1
    ):
        return False
    same_shape = node.inputs[0].shape == node.outputs[0].shape
    return same_shape and kind_of(op) is Kind.ELEMENTWISE


def is_free(result: Tensor, readers: Readers) -> bool:
    """Whether the readers of a result can as well read a slice of a larger one.

    One that would be computed where the result is written had better stay there.
    """
    found = readers.of(result)
    if not found or any(each.op.kind != "kernels" for each in found):
        return False
    if len(found) > 1 or isinstance(found[0].op, MOVES):
        return True
    kind = kind_of(found[0].op)
    return kind in (Kind.REDUCTION, Kind.INJECTIVE)


def merged(family: Sequence[Member]) -> dict[Tensor, Tensor]:
    """What the results become: slices of one product."""
    nodes = [member.node for member in family]
    first = nodes[0]
    with tracing(), placed(first.place):
        across = isinstance(first.op, Matmul) and not first.op.transpose_b
        weight = ops.concat([each.inputs[1] for each in nodes], 1 if across else 0)
        operands = (first.inputs[0], weight)
        if not isinstance(first.op, Matmul):
            operands += (bias_of(nodes),)  # type: ignore[assignment]
        whole = apply(type(first.op), *operands, **first.op.attributes())
        for each in family[0].tail:
            whole = applied(each, whole)
        axis = 1 if isinstance(first.op, Conv) else whole.ndim - 1
        widths = [each.outputs[0].shape[axis] for each in nodes]
        parts = ops.split(whole, widths, axis)
    return dict(zip((member.result for member in family), parts, strict=True))


def bias_of(nodes: Sequence[Node]) -> Tensor | None:
    """All biases one after the other: zeros for one that is not there, None if none is."""
    given = [each.inputs[2] if len(each.inputs) > 2 else None for each in nodes]
    one = next((each for each in given if each is not None), None)
    if one is None:
        return None
    parts = []
    for node, each in zip(nodes, given, strict=True):
        size = node.inputs[1].shape[0]
        parts.append(ops.zeros((size,), one.dtype, device=one.device) if each is None else each)
    return ops.concat(parts, 0)


def applied(node: Node, x: Tensor) -> Tensor:
    """The operator of a node with one operand, applied to another tensor."""
    op: Any = node.op
    (name,) = (each for each in operand_names(op.operator_class()) if getattr(op, each) is not None)
    changed = dataclasses.replace(op, **{name: x.type})
    return Node(changed, (x,), node.place, node.device).outputs[0]
