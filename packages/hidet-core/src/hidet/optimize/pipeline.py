"""Which passes change a graph, in order, each with the reason for its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hidet.graph.flow import FlowGraph
from hidet.optimize.duplicate_creators import duplicate_creators
from hidet.optimize.separate_outputs import separate_outputs
from hidet.optimize.spell_attention import spell_attention

GraphPass = Callable[[FlowGraph], FlowGraph]
Observer = Callable[[GraphPass, FlowGraph], None]

PASSES: tuple[GraphPass, ...] = (
    spell_attention,  # first: it makes products and a softmax, which the others see
    separate_outputs,  # before creators are copied: its own nodes read none
    duplicate_creators,  # last: whatever reads a constant made on the way gets its own
)


def optimize(graph: FlowGraph, observers: Iterable[Observer] = ()) -> FlowGraph:
    """The graph after all passes, each shown to all observers; the given one is not changed."""
    watching = tuple(observers)
    for each in PASSES:
        graph = each(graph)
        for observer in watching:
            observer(each, graph)
    return graph
