"""Nodes in an order in which they can run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from graphlib import CycleError, TopologicalSorter

from onnx import GraphProto, NodeProto

from hidet.errors import BadArgument
from hidet_onnx.importing.place import called


def in_order(nodes: Sequence[NodeProto], given: Collection[str], graph: str) -> list[NodeProto]:
    """The nodes with those first whose results others read; as they are listed, if that is so.

    `given` are the names of the graph's inputs. BadArgument names a name that two nodes compute,
    and the nodes of a cycle.
    """
    maker = makers(nodes, given, graph)
    needs = [{maker[name] for name in reads(node) if name in maker} for node in nodes]
    if all(max(each, default=-1) < index for index, each in enumerate(needs)):
        return list(nodes)
    try:
        order = list(TopologicalSorter(dict(enumerate(needs))).static_order())
    except CycleError as error:
        names = " -> ".join(called(nodes[index]) for index in error.args[1][::-1])
        raise BadArgument(f"nodes of {graph!r} need each other's results: {names}") from None
    return [nodes[index] for index in order]


def makers(nodes: Sequence[NodeProto], given: Collection[str], graph: str) -> dict[str, int]:
    """Which node computes each name; BadArgument if several do."""
    found: dict[str, int] = {}
    known = set(given)
    for index, node in enumerate(nodes):
        for name in filter(None, node.output):
            if name in found or name in known:
                raise BadArgument(f"{name!r} is computed by {called(node)} and has a value already")
            found[name] = index
    return found


def reads(node: NodeProto) -> set[str]:
    """The names that a node reads, or its sub-graphs read from around them."""
    found = set(filter(None, node.input))
    for graph in graphs_of(node):
        inner = {each.name for each in graph.output}.union(*map(reads, graph.node))
        bound = {each.name for each in (*graph.input, *graph.initializer)}
        found |= inner - bound.union(*(each.output for each in graph.node))
    return found


def graphs_of(node: NodeProto) -> Iterable[GraphProto]:
    """The sub-graphs that a node has as attributes."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs
