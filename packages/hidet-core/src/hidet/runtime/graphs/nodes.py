"""Steps of a plan as nodes of a CUDA graph, or of a body of a conditional node in one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from hidet.runtime.graphs.early import add_early_edge, early_edges


class GraphNode(Protocol):
    """A step that can be a node of a graph, or several."""

    @property
    def buffers(self) -> set[int]:
        """The buffers that it is told of."""

    def add(self, graph: Any, before: Sequence[Any], pointers: Sequence[int]) -> Any:
        """Add it behind other nodes, with the buffers at `pointers`; returns the node that those
        wait for which come behind it."""

    def update(self, executable: Any, node: Any, pointers: Sequence[int]) -> None:
        """Point it to buffers that moved, in a graph that is ready to run."""


def add_nodes(
    graph: Any,
    before: Sequence[Any],
    items: Sequence[GraphNode],
    waits: Sequence[Collection[int]],
    early: Collection[int],
    pointers: Sequence[int],
) -> list[Any]:
    """Add items to a graph, each behind those it waits for, or behind `before` if it waits for
    none; an `early` one may begin while the one it waits for still runs. Returns their nodes."""
    nodes: list[Any] = []
    for number, (item, needs) in enumerate(zip(items, waits, strict=True)):
        ahead = [nodes[each] for each in sorted(needs)] or before
        is_early = number in early and early_edges()
        node = item.add(graph, [] if is_early else ahead, pointers)
        if is_early:
            for each in ahead:
                add_early_edge(graph, each, node)
        nodes.append(node)
    return nodes
