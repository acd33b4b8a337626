"""Graphs after all passes, which show what operators share a kernel."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.build.choosing.grouping import grouped, optimized
from hidet.build.target import target_for
from hidet.fusion.group import Group
from hidet.graph.flow import FlowGraph
from hidet.graph.show import Fused, single
from hidet.ir.order import producers_first
from hidet.optimize import split
from hidet.target import Target


class OptimizedGraph(FlowGraph):
    """A graph after all passes for a target, whose text has a line for each kernel."""

    def __init__(self, graph: FlowGraph, target: Target) -> None:
        super().__init__(
            graph.inputs, graph.outputs, graph.name, graph.limits, graph.guards, graph.data_sizes
        )
        self.target = target

    def fused(self) -> Sequence[Fused] | None:
        """Which operators share a kernel; what is computed once, of constants, comes first.

        None where sizes depend on data: such a graph is compiled in stages, as `explain` tells.
        """
        if self.data_sizes:
            return None
        parts = split(self)
        graphs = (part for part in (parts.prepare, parts.main) if part is not None)
        groups = [group for part in graphs for group in grouped(part, self.target)]
        lines = [line for group in groups for line in as_lines(group)]
        makers = {each: line for line in lines for each in line.outputs}
        return producers_first(lines, lambda line: [makers[e] for e in line.inputs if e in makers])


def optimize_graph(graph: FlowGraph) -> OptimizedGraph:
    """The graph after all passes, for the target of its inputs."""
    target = target_for(graph, None)
    return OptimizedGraph(optimized(graph, target), target)


def as_lines(group: Group) -> list[Fused]:
    """A group as one operator; what moves nothing is shown as it is."""
    if group.is_free or len(group.nodes) == 1:
        return [single(node) for node in group.nodes]
    outputs = tuple(dict.fromkeys((*group.also, *group.last.outputs)))
    return [Fused(tuple(group.nodes), group.inputs, outputs, group.anchor)]
