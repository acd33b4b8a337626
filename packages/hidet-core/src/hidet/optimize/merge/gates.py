"""The two products of a gated layer become one, their columns taking turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from hidet import ops
from hidet.compute import Kind
from hidet.compute.sizes import same, same_shape
from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.kinds import kind_of
from hidet.graph.rewrite import replace
from hidet.graph.tensor import Node, Tensor
from hidet.ops.products.matmul import Linear
from hidet.ops.tensors.slicing import Slice
from hidet.optimize.constants import Constants, Readers
from hidet.optimize.merge.horizontal import bias_of
from hidet.types import Size

MOST = 24
"""Operators between the products and where they meet: a kernel takes no more in."""


def merge_gates(graph: FlowGraph) -> FlowGraph:
    """Compute two linear layers of one operand, whose elements meet one by one, as one.

    before   y = silu(linear(x, a)) * linear(x, b)
    after    z = linear(x, rows of a and b in turns);  y = silu(z[..., 0::2]) * z[..., 1::2]

    So are the halves of one layer. A thread that holds an even column of z holds the next one too,
    so that the gate is an epilogue.
    """
    while gate := next(gates(graph), None):
        graph = replace(graph, merged(gate))
    return graph


@dataclass(frozen=True)
class Gate:
    """Two tensors that meet one by one: results of one layer each, or halves of one layer's."""

    layers: tuple[Node, ...]
    halves: tuple[Tensor, Tensor]


def gates(graph: FlowGraph) -> Iterator[Gate]:
    """Gated layers that can be computed as one product."""
    constants, readers = Constants(graph), Readers(graph)
    places = {node: place for place, node in enumerate(graph.nodes)}
    candidates: dict[tuple[object, ...], list[Node]] = {}
    for node in graph.nodes:
        fixed = all(each in constants for each in node.inputs[1:])
        if isinstance(node.op, Linear) and fixed and node.inputs[0] not in constants:
            candidates.setdefault((node.inputs[0], node.inputs[1].type), []).append(node)
    for family in candidates.values():
        pairs = combinations(family, 2)
        able = [Gate(pair, (pair[0].outputs[0], pair[1].outputs[0])) for pair in pairs]
        able += [Gate((node,), halves) for node in family if (halves := halves_of(node, readers))]
        yield from (each for each in able if meet(each, readers, places))


def halves_of(layer: Node, readers: Readers) -> tuple[Tensor, Tensor] | None:
    """The two halves that a layer's result is parted into, if nothing else reads it."""
    (whole,) = layer.outputs
    found = readers.of(whole)
    if len(found) != 2 or not all(isinstance(each.op, Slice) for each in found):
        return None
    first, second = sorted(found, key=lambda each: not begins_at(each, whole, 0))
    (low,), (high,) = first.outputs, second.outputs
    half = low.shape[-1]
    there = begins_at(first, whole, 0) and begins_at(second, whole, half)
    fits = same(half * 2, whole.shape[-1]) and same_shape(low.shape, high.shape)
    return (low, high) if there and fits else None


def begins_at(node: Node, whole: Tensor, start: Size) -> bool:
    """Whether a node reads neighbours of the last axis from `start` on, and all of the others."""
    op = node.op
    if not isinstance(op, Slice) or any(step != 1 for step in op.steps):
        return False
    starts = (*(0 for _ in whole.shape[1:]), start)
    return same_shape(op.starts, starts) and same_shape(op.sizes[:-1], whole.shape[:-1])


def meet(gate: Gate, readers: Readers, places: dict[Node, int]) -> bool:
    """Whether all that is made of both tensors, element by element, comes together in one."""
    shape = gate.halves[0].shape
    sides: dict[Tensor, frozenset[Tensor]] = {each: frozenset([each]) for each in gate.halves}
    unread = {each: set(readers.of(each)) for each in gate.halves}
    for _ in range(MOST):
        if not all(unread.values()):
            return False  # the caller gets one of them
        node = min((node for nodes in unread.values() for node in nodes), key=places.__getitem__)
        if not is_function(node) or not same_shape(node.outputs[0].shape, shape):
            return False
        made = frozenset().union(*(sides.get(each, frozenset()) for each in node.inputs))
        unread = {x: rest for x, nodes in unread.items() if (rest := nodes - {node})}
        if not unread and len(made) == 2:
            return True
        (result,) = node.outputs
        sides[result], unread[result] = made, set(readers.of(result))
    return False


def is_function(node: Node) -> bool:
    """Whether each element is a function of those at the same place, or of what is spread to it."""
    if node.op.kind != "kernels" or len(node.outputs) != 1:
        return False
    return kind_of(node.op) is Kind.ELEMENTWISE


def merged(gate: Gate) -> dict[Tensor, Tensor]:
    """What the two become: every other column of one product."""
    first = gate.layers[0]
    with tracing(), placed(first.place):
        weight = interleaved([each.inputs[1] for each in gate.layers])
        bias = bias_of(gate.layers)
        if bias is not None:
            bias = interleaved([bias])
        whole = ops.linear(first.inputs[0], weight, bias)
        even, odd = (ops.slice(whole, -1, start, None, 2) for start in (0, 1))
    return dict(zip(gate.halves, (even, odd), strict=True))


def interleaved(constants: list[Tensor]) -> Tensor:
    """The rows of two constants, or of the halves of one, taking turns."""
    whole = constants[0]
    if len(constants) == 1:
        parted = ops.reshape(whole, (2, -1, *whole.shape[1:]))
        interleaved = ops.permute(parted, (1, 0, *range(2, parted.ndim)))
    else:
        interleaved = ops.stack(constants, 1)
    return ops.reshape(interleaved, (-1, *whole.shape[1:]))
