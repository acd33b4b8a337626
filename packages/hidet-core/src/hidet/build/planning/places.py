"""Where the operators of a graph come from, as its kernels are told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from hidet.errors import Place
from hidet.graph.body import bodies_of
from hidet.graph.flow import FlowGraph
from hidet.runtime.plans.archive import Archive
from hidet.runtime.plans.kernel_note import KernelNote

Positions = Mapping[Place, int]
"""For each place of a graph the position of the first operator there."""
NOWHERE: Positions = MappingProxyType({})


def with_places(archive: Archive, graph: FlowGraph) -> Archive:
    """The archive with the source locations that the operators of its graph have now.

    It may have been compiled from another text of the same model. The first operator of a line
    stands for all of that line; where the model had no lines when it was compiled, none are told.
    """
    found = list(places_of(graph))

    def located(each: KernelNote) -> KernelNote:
        lines = (found[number] for number in each.nodes if number < len(found))
        return replace(each, places=tuple(dict.fromkeys(e.short for e in lines if e)))

    plans = {
        name: replace(plan, kernels=tuple(map(located, plan.kernels)))
        for name, plan in archive.plans.items()
    }
    return replace(archive, plans=plans)


def positions_of(graph: FlowGraph) -> Positions:
    """The position of the first operator at each place."""
    found: dict[Place, int] = {}
    for number, place in enumerate(places_of(graph)):
        if place is not None:
            found.setdefault(place, number)
    return found


def places_of(graph: FlowGraph) -> Iterator[Place | None]:
    """The place of each operator, those in bodies of control flow behind the one that runs them."""
    for node in graph.nodes:
        yield node.place
        for body in bodies_of(node.op):
            yield from places_of(body.graph)
