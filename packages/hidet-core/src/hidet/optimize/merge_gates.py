"""The two products of a gated layer become one, their columns taking turns."""

from __future__ import annotations

from collections.abc import Iterator

from hidet import ops
from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import replace
from hidet.graph.tensor import Node, Tensor
from hidet.ops.matmul import Linear
from hidet.optimize.constants import Constants, Readers
from hidet.optimize.merge_siblings import bias_of, tail_of


def merge_gates(graph: FlowGraph) -> FlowGraph:
    """Compute two linear layers of one operand, whose elements meet one by one, as one.

    before   y = silu(linear(x, a)) * linear(x, b)
    after    z = linear(x, rows of a and b in turns);  y = silu(z[..., 0::2]) * z[..., 1::2]

    A thread that holds an even column of z holds the next one too, so that the gate is an epilogue.
    """
    while gate := next(gates(graph), None):
        graph = replace(graph, merged(*gate))
    return graph


def gates(graph: FlowGraph) -> Iterator[tuple[Node, Node]]:
    """Pairs of linear layers that can be computed as one."""
    constants, readers = Constants(graph), Readers(graph)
    ends: dict[Tensor, Node] = {}
    for node in graph.nodes:
        if isinstance(node.op, Linear) and all(each in constants for each in node.inputs[1:]):
            ends[(node, *tail_of(node, readers))[-1].outputs[0]] = node
    for node in graph.nodes:
        if len(node.inputs) == 2 and all(each in ends for each in node.inputs):
            first, second = (ends[each] for each in node.inputs)
            alone = all(readers.only(each) is node for each in node.inputs)
            if alone and first is not second and alike(first, second, constants):
                yield first, second


def alike(first: Node, second: Node, constants: Constants) -> bool:
    """Whether two linear layers have one operand, and weights of one type."""
    one = first.inputs[0] is second.inputs[0] and first.inputs[0] not in constants
    return one and first.inputs[1].type == second.inputs[1].type


def merged(first: Node, second: Node) -> dict[Tensor, Tensor]:
    """What the two results become: every other column of one product."""
    with tracing(), placed(first.place):
        count, depth = first.inputs[1].shape
        weight = ops.reshape(ops.stack([first.inputs[1], second.inputs[1]], 1), (-1, depth))
        bias = bias_of([first, second])
        if bias is not None:
            bias = ops.reshape(ops.permute(ops.reshape(bias, (2, count)), (1, 0)), (-1,))
        whole = ops.linear(first.inputs[0], weight, bias)
        even, odd = (ops.slice(whole, -1, start, None, 2) for start in (0, 1))
    return {first.outputs[0]: even, second.outputs[0]: odd}
