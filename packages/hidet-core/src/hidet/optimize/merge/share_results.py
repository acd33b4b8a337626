"""What is computed twice is computed once."""

from __future__ import annotations

from hidet.graph.flow import FlowGraph
from hidet.graph.operator import Op
from hidet.graph.rewrite import rewrite
from hidet.graph.tensor import Node, Tensor


def share_results(graph: FlowGraph) -> FlowGraph:
    """Let one node stand for all that apply the same operator to the same tensors.

    before   p = relu(x);  q = relu(x);  y = p + q
    after    p = relu(x);  y = p + p

    What runs in the framework may have effects, and stays, as does what is updated in place. (An
    output is made once for each place that asks for it, by `separate_outputs`.)
    """
    known: dict[tuple[Op, str, tuple[int, ...]], Node] = {}

    def change(node: Node) -> tuple[Tensor, ...] | None:
        if node.op.kind == "framework" or getattr(node.op, "in_place", False):
            return None
        key = (node.op, node.device, tuple(map(id, node.inputs)))
        first = known.setdefault(key, node)
        return None if first is node else first.outputs

    return rewrite(graph, change)
