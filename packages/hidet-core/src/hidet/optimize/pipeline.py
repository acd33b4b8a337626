"""Which passes change a graph, in order, each with the reason for its place."""

from __future__ import annotations

from collections.abc import Iterable

from hidet.graph.flow import FlowGraph
from hidet.optimize.duplicate_creators import duplicate_creators
from hidet.optimize.instruments import GraphPass, Observer, instruments
from hidet.optimize.lower_precision import lower_precision
from hidet.optimize.separate_outputs import separate_outputs
from hidet.optimize.spell_attention import spell_attention

PASSES: tuple[GraphPass, ...] = (
    lower_precision,  # first: the others see the types that are computed in
    spell_attention,  # it makes products and a softmax, which the others see
    separate_outputs,  # before creators are copied: its own nodes read none
    duplicate_creators,  # last: whatever reads a constant made on the way gets its own
)

__all__ = ["PASSES", "GraphPass", "Observer", "optimize"]


def optimize(graph: FlowGraph, observers: Iterable[Observer] = ()) -> FlowGraph:
    """The graph after all passes, each shown to all observers; the given one is not changed."""
    watching = (*observers, *instruments(graph))
    for each in PASSES:
        graph = each(graph)
        for observer in watching:
            observer(each, graph)
    return graph
