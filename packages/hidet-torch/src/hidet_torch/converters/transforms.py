"""Which calls of a Dynamo graph run under `torch.func.vmap`, `grad` or `jvp`.

Dynamo writes a transform as two calls, one that begins it and one that ends it. Between them an
operator of our own would have no gradient, and would run once for each row of a batch.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

BEGINS = ("_increment_nesting", "_enter_dual_level")
ENDS = ("_decrement_nesting", "_exit_dual_level")


def untransformed(graph_module: torch.fx.GraphModule) -> Iterator[torch.fx.Node]:
    """The nodes that no transform is around, of the graph and of the graphs that its nodes run."""
    found = list(outside(graph_module.graph))
    yield from found
    transformed = set(graph_module.graph.nodes).difference(found)
    reads = graph_module.graph.find_nodes(op="get_attr")
    hidden = {each.target for each in reads if not transformed.isdisjoint([each, *each.users])}
    for name in sorted({each.target for each in reads} - hidden):
        inner = getattr(graph_module, name, None)
        if isinstance(inner, torch.fx.GraphModule):
            yield from untransformed(inner)


def outside(graph: torch.fx.Graph) -> Iterator[torch.fx.Node]:
    """The nodes of one graph that lie between no call that begins a transform and its end."""
    depth = 0
    for node in graph.nodes:
        name = str(getattr(node.target, "__name__", "")) if node.op == "call_function" else ""
        depth += name.endswith(BEGINS)
        if depth == 0:
            yield node
        depth -= name.endswith(ENDS)
