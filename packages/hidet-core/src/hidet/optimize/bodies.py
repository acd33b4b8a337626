"""Passes go into the bodies of control flow; what a body updates where it lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hidet.graph.body import Body, Region
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import rewrite, rewrite_from
from hidet.graph.tensor import Node, Tensor
from hidet.ops.flow.control import Loop
from hidet.ops.indexing.in_place import in_place
from hidet.optimize.instruments import GraphPass


def optimize_bodies(graph: FlowGraph, run: GraphPass = lambda graph: graph) -> FlowGraph:
    """Let all passes, which `run` stands for, change the bodies of control flow.

    What a loop carries and updates is then updated where it lies.
    """

    def changed(body: Body) -> Body:
        made = run(body.graph)
        return body if made is body.graph else Body(made)

    def change(node: Node) -> Sequence[Tensor] | None:
        if not isinstance(node.op, Region):
            return None
        op = node.op.with_bodies(changed)
        if isinstance(op, Loop):
            op = replace(op, body=updating(op))
        return Node(op, node.inputs, node.place, node.device).outputs

    return rewrite(graph, change)


def updating(op: Loop) -> Body:
    """The body of a loop, its updates of what it carries in place where nothing else reads it.

    before   body(iteration, rows, x):  return index_put(rows, iteration, x)   a copy of all rows
    after    body(iteration, rows, x):  return in_place(index_put(rows, iteration, x))
    """
    graph = op.body.graph
    users, count = graph.users(), len(op.carried)
    first = len(graph.results) - count
    pairs = zip(graph.inputs[1:], graph.results[first:], strict=False)
    updates = {
        out.trace[0] for base, out in pairs if out.trace and lies_in(out, base, graph, users)
    }
    return Body(substituted(graph, updates)) if updates else op.body


def lies_in(
    output: Tensor, base: Tensor, graph: FlowGraph, users: dict[Tensor, list[Node]]
) -> bool:
    """Whether an output is an update of an input that nothing else reads."""
    if output is base or output.trace is None or in_place(output) is None:
        return False
    node = output.trace[0]
    alone = users.get(base) == [node] and sum(each is base for each in node.inputs) == 1
    return alone and node.inputs[0] is base and sum(each is output for each in graph.outputs) == 1


def substituted(graph: FlowGraph, updates: set[Node]) -> FlowGraph:
    """The graph with these updates in place."""

    def change(original: Node, node: Node) -> Sequence[Tensor] | None:
        made = in_place(node.outputs[0]) if original in updates else None
        return None if made is None else (made,)

    return rewrite_from(graph, change)
