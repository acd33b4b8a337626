"""What a graph's calls will need of memory, for frontends to tell; nothing is run or compiled."""

from __future__ import annotations

from collections.abc import Mapping

from hidet.build.draft import plan_graph
from hidet.graph.flow import FlowGraph
from hidet.runtime.binding.footprint import Footprint, footprint

__all__ = ["Footprint", "footprint_of"]


def footprint_of(
    graph: FlowGraph, target: str | None = None, symbols: Mapping[str, int] | None = None
) -> Footprint:
    """The memory beside the weights that calls of the graph need when compiled for `target`.

    `symbols` are numbers for the dynamic sizes. Any target will do, whatever this machine has.
    """
    return footprint(plan_graph(graph, target), symbols)
