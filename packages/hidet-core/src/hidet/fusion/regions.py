"""Where the ways of a value that several operators read meet again.

The meeting point of a node is its nearest post-dominator: the first node that lies on every way
from it to an output. Between the two nothing else leaves, so that all of it can share a kernel.
"""

from __future__ import annotations

from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node


class Regions:
    """The meeting points of one graph."""

    def __init__(self, graph: FlowGraph) -> None:
        self.users = graph.users()
        self.kept = set(graph.outputs)
        self.order = {node: place for place, node in enumerate(graph.nodes)}
        self.depth: dict[Node | None, int] = {None: 0}
        self.postdominator: dict[Node | None, Node | None] = {None: None}
        for node in reversed(graph.nodes):
            point = self.common(node)
            self.postdominator[node] = point
            self.depth[node] = self.depth[point] + 1

    def readers(self, node: Node) -> list[Node]:
        """Who reads a node's results."""
        return list(
            dict.fromkeys(user for each in node.outputs for user in self.users.get(each, []))
        )

    def common(self, node: Node) -> Node | None:
        """The nearest node through which all readers' ways go; None stands for the graph's end."""
        readers = self.readers(node)
        if not readers or any(each in self.kept for each in node.outputs):
            return None
        point: Node | None = readers[0]
        for other in readers[1:]:
            point = self.meet(point, other)
        return point

    def meet(self, a: Node | None, b: Node | None) -> Node | None:
        """The first node that lies behind both."""
        while a is not b:
            if self.depth[a] >= self.depth[b]:
                a = self.postdominator[a]
            else:
                b = self.postdominator[b]
        return a

    def behind(self, node: Node, most: int) -> list[Node] | None:
        """The nodes on the ways from `node` to its meeting point, that one included, in order.

        None if the ways meet only at the graph's end, or after more than `most` nodes.
        """
        point = self.postdominator[node]
        if point is None:
            return None
        found: dict[Node, None] = {}
        pending = [node]
        while pending:
            for reader in self.readers(pending.pop()):
                if reader not in found:
                    found[reader] = None
                    if reader is not point:
                        pending.append(reader)
                if len(found) > most:
                    return None
        return sorted(found, key=self.order.__getitem__)
