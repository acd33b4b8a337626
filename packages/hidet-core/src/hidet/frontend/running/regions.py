"""Fallback regions: neighbouring nodes that the framework runs become one node, run by one call.

Between two calls of the framework every value is written to memory of the compiled graph and read
from there again. Within one region they stay the framework's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hidet.frontend.running.execute import HostStep
from hidet.frontend.running.fallback import HostCall
from hidet.graph import FlowGraph, Foreign, Node, Tensor, make_node, placed
from hidet.graph.data_sizes import sizes_in
from hidet.graph.foreign import ResultTypes
from hidet.graph.rewrite import reading


@dataclass(frozen=True)
class Region:
    """Calls that run in order, one after the other.

    Values have numbers: first the `operands` of the region, then what each call gives, without
    results that are no tensors. `reads` are the numbers of each call's operands, `results` those
    of what comes out.
    """

    calls: tuple[HostCall, ...]
    operands: int
    reads: tuple[tuple[int, ...], ...]
    results: tuple[int, ...]


Join = Callable[[Region], HostStep]
"""How a frontend makes one step of a region."""


@dataclass
class Joined:
    """A graph with its regions, the calls by key, and what stands for tensors of the old graph."""

    graph: FlowGraph
    calls: dict[str, HostCall]
    tensors: dict[Tensor, Tensor] = field(default_factory=dict)


def joined(graph: FlowGraph, calls: Mapping[str, HostCall], join: Join) -> Joined:
    """The graph in which nodes that the framework runs are one where nothing compiled has to run
    between them. Calls in the bodies of control flow stay as they are."""
    found = Joined(graph, dict(calls))
    rows: dict[int, list[Node]] = {}
    for node, level in levels(graph).items():
        rows.setdefault(level, []).append(node)
    if not any(is_left(nodes[0]) and len(nodes) > 1 for nodes in rows.values()):
        return found
    read = Readers(graph, rows)
    for level in sorted(rows):
        nodes = rows[level]
        if is_left(nodes[0]) and len(nodes) > 1:
            add_region(found, nodes, read.outside(level), join)
        else:
            for node in nodes:
                add_node(found, node)
    found.graph = graph.with_outputs(found.tensors.get(each, each) for each in graph.outputs)
    return found


def levels(graph: FlowGraph) -> dict[Node, int]:
    """How often the framework and compiled kernels take turns before each node.

    Nodes of the framework have even levels, others odd ones, so that nodes of one level depend on
    each other by nothing but nodes of the same level.
    """
    found = earliest(graph)
    last = max((level for node, level in found.items() if is_left(node)), default=0)
    users = graph.users()
    for node in reversed(graph.nodes):  # who waits for readers meets others who did not wait
        if is_left(node):
            readers = {user for each in node.outputs for user in users.get(each, ())}
            latest = (found[each] - (not is_left(each)) for each in readers)
            found[node] = min(latest, default=last)
    return found


def earliest(graph: FlowGraph) -> dict[Node, int]:
    """The lowest level that each node can have."""
    known: dict[Tensor, int] = {}
    found: dict[Node, int] = {}
    data_sizes = graph.size_sources
    for node in graph.nodes:
        size_sources = [data_sizes[size] for size in sizes_in(node) if size in data_sizes]
        level = max((known.get(each, 0) for each in (*node.inputs, *size_sources)), default=0)
        found[node] = level + (level % 2 == is_left(node))
        known.update(dict.fromkeys(node.outputs, found[node]))
    return found


def is_left(node: Node) -> bool:
    """Whether the framework runs a node."""
    return isinstance(node.op, Foreign)


class Readers:
    """At which levels each tensor of a graph is read; results are read at none that nodes have."""

    def __init__(self, graph: FlowGraph, rows: Mapping[int, Sequence[Node]]) -> None:
        self.levels: dict[Tensor, set[int]] = {each: {-1} for each in graph.outputs}
        for level, nodes in rows.items():
            for node in nodes:
                for each in node.inputs:
                    self.levels.setdefault(each, set()).add(level)

    def outside(self, level: int) -> Callable[[Tensor], bool]:
        """Whether a tensor is read at another level than this."""
        return lambda tensor: bool(self.levels.get(tensor, set()) - {level})


def add_node(found: Joined, node: Node) -> None:
    """A node as it was, reading what stands for its operands."""
    current = reading(node, tuple(found.tensors.get(each, each) for each in node.inputs))
    if current is not node:
        found.tensors.update(zip(node.outputs, current.outputs, strict=True))


def add_region(
    found: Joined, nodes: Sequence[Node], is_read: Callable[[Tensor], bool], join: Join
) -> None:
    """One node for those of one level, whose results are what is read outside of it."""
    calls = [found.calls.pop(key_of(node)) for node in nodes]
    tokens = [node.outputs[-1] for node, c in zip(nodes, calls, strict=True) if c.effects]
    inner = dict.fromkeys(each for node in nodes for each in node.outputs)
    operands = [t for t in dict.fromkeys(t for n in nodes for t in n.inputs) if t not in inner]
    order = set(tokens)  # which carry no value
    values = [each for each in inner if each not in order]
    results = [each for each in values if is_read(each)]
    step = join(region_of(nodes, calls, operands, values, results))
    given = tuple(found.tensors.get(each, each) for each in operands)
    gives = tuple(each.type for each in results)
    name = f"{calls[0].name} and {len(calls) - 1} more"
    key = f"{key_of(nodes[0]).partition(':')[0]}:{name}"
    found.calls[key] = HostCall(name, given, gives, step, effects=bool(tokens))
    outcome = [*results, *tokens[-1:]]
    types = ResultTypes(each.type for each in outcome)
    with placed(nodes[0].place):
        made = make_node(Foreign, given, key=key, gives=types, device=nodes[0].device)
    found.tensors.update(zip(outcome, made.outputs, strict=True))


def region_of(
    nodes: Sequence[Node],
    calls: Sequence[HostCall],
    operands: Sequence[Tensor],
    values: Sequence[Tensor],
    results: Sequence[Tensor],
) -> Region:
    """The calls of nodes with numbers for the values that they read and give."""
    number = {each: place for place, each in enumerate((*operands, *values))}
    reads = tuple(
        tuple(number[each] for each in node.inputs[: len(call.operands)])
        for node, call in zip(nodes, calls, strict=True)
    )
    return Region(tuple(calls), len(operands), reads, tuple(number[each] for each in results))


def key_of(node: Node) -> str:
    """The key of the call that a node of the framework's stands for."""
    assert isinstance(node.op, Foreign), "only these have one"
    return node.op.key
