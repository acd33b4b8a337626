"""What users call a graph's inputs, and what its sizes may be: put into plans of it.

Plans come from the cache by what a graph computes, whatever its inputs are called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hidet.graph.flow import FlowGraph
from hidet.runtime.plans.archive import Archive
from hidet.runtime.plans.plan import Guard, Plan
from hidet.types.strides import inverse


def as_called(
    archive: Archive, graph: FlowGraph, orders: Sequence[tuple[int, ...]] = ()
) -> Archive:
    """The archive of a graph with its inputs' names, its sizes' limits and its guards.

    It was compiled for inputs whose axes lie in `orders`; without any they lie in rows.
    """
    main = named(archive.main, graph)
    plans = {**archive.plans, "main": seen(main, orders) if orders else main}
    return replace(archive, plans=plans)


def named(plan: Plan, graph: FlowGraph) -> Plan:
    """The plan of what a call of the graph does."""
    buffers = list(plan.buffers)
    for number, name in zip(plan.inputs, names([t.name for t in graph.inputs]), strict=True):
        buffers[number] = replace(buffers[number], name=name)
    guards = tuple(
        Guard(each.number(graph.inputs), each.axis, each.symbol, str(each.place or ""))
        for each in graph.guards
    )
    return replace(plan, buffers=tuple(buffers), limits=graph.limits, guards=guards)


def seen(plan: Plan, orders: Sequence[tuple[int, ...]]) -> Plan:
    """The plan with inputs as callers see them, whose axes lie in these orders."""
    buffers = list(plan.buffers)
    for number, order in zip(plan.inputs, orders, strict=True):
        lies = buffers[number].shape
        if order != tuple(range(len(lies))):
            shape = tuple(lies[position] for position in inverse(order))
            buffers[number] = replace(buffers[number], shape=shape, order=order)
    symbols = {name: (given, orders[given][axis]) for name, (given, axis) in plan.symbols.items()}
    return replace(plan, buffers=tuple(buffers), symbols=symbols)


def names(given: Sequence[str]) -> list[str]:
    """Names of inputs, no two alike: as given, else by their numbers."""
    found: list[str] = []
    for position, name in enumerate(given):
        fresh = name if name and name not in found else f"input{position}"
        while fresh in found:
            fresh += "_"
        found.append(fresh)
    return found
