"""A graph whose sizes were taken to be equal, with the equal sizes put in and checks that say why.

An input whose axis had a symbol of its own has the size that it must have; a call with another one
is refused by its shape, with the place of the operator that needs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hidet.compute.guards import DATA_SIZES, Guards, assuming, assumptions
from hidet.compute.sizes import tidy
from hidet.errors import BadArgument, NotYet
from hidet.graph.axis_guard import AxisGuard
from hidet.graph.body import bodies_of
from hidet.graph.data_sizes import DataSize, Within, data_sizes_read, found_in
from hidet.graph.flow import FlowGraph, sorted_nodes
from hidet.graph.tensor import Tensor
from hidet.ir.expr import Var, wrap
from hidet.ir.walk import variables
from hidet.runtime.plans.plan import Limits
from hidet.types import Size


def guarded(graph: FlowGraph, guards: Guards) -> FlowGraph:
    """The graph that was made inside of `assuming()`, whose guards it keeps; inputs and outputs
    stay in their order."""
    return guarded_with(graph, guards)[0]


def guarded_with(graph: FlowGraph, guards: Guards) -> tuple[FlowGraph, dict[Tensor, Tensor]]:
    """The same, and what stands for the tensors of the trace from then on."""
    if not guards:
        return graph, {}
    with assuming(guards):
        sizes = {symbol: tidy(symbol) for symbol in guards}
        refuse_data_sizes(graph, guards, sizes)
        size_sources, new = found_in(graph.outputs, graph.inputs, sorted_nodes, sizes)
    made = FlowGraph(
        (new.get(each, each) for each in graph.inputs),
        (*(new.get(each, each) for each in graph.outputs), *size_sources),
        graph.name,
        merged(
            limited(graph.limits, guards), {symbol.name: size for symbol, size in sizes.items()}
        ),
        (
            *graph.guards,
            *(
                AxisGuard(new.get(each, each), axis, size.name, guards[size].place)
                for each in graph.inputs
                for axis, size in enumerate(each.made_type.shape)
                if isinstance(size, Var) and size in guards
            ),
        ),
        (*graph.data_sizes, *(limited_size(each, guards) for each in size_sources.values())),
    )
    return made, new


def data_sizes_inside(
    results: Sequence[Tensor], inputs: Sequence[Tensor], within: Within
) -> tuple[dict[Tensor, DataSize], dict[Tensor, Tensor]]:
    """The sizes that a body tells, with what is assumed of them by now, by what tells them; and
    what stands for its tensors from then on."""
    guards = assumptions() or Guards()
    own = data_sizes_read(results, lambda ends: sorted_nodes(ends, inputs), (), within)
    sizes = {var: tidy(var) for var in own if var in guards}
    size_sources, new = found_in(results, inputs, sorted_nodes, sizes, within)
    return {tensor: limited_size(each, guards) for tensor, each in size_sources.items()}, new


def data_sizes_in_bodies(graph: FlowGraph) -> set[Var]:
    """The sizes that bodies of a graph tell, as they were called while it was traced."""
    graphs = [body.graph for node in graph.nodes for body in bodies_of(node.op)]
    own = {each.traced for inner in graphs for each in inner.data_sizes if each.traced is not None}
    return own.union(*map(data_sizes_in_bodies, graphs))


def refuse_data_sizes(graph: FlowGraph, guards: Guards, sizes: Mapping[Var, Size]) -> None:
    """Raise NotYet where nothing checks that a size which data tell is what it was taken to be."""
    early = {
        each.traced for each in graph.data_sizes
    }  # their names are not those of the trace any more
    inner = data_sizes_in_bodies(graph)
    for symbol, size in sizes.items():
        if symbol in inner:
            continue  # the body that tells it checks that
        others = set(variables(wrap(size)))
        by_data = symbol not in DATA_SIZES and any(each in DATA_SIZES for each in others)
        if by_data or not early.isdisjoint((symbol, *others)) or not inner.isdisjoint(others):
            where = guards[symbol].place
            raise NotYet(f"{symbol} has to be {size}, which data tell", place=where)
    for symbol, most in guards.most.items():
        if symbol in early:
            raise NotYet(f"{symbol}, which data tell, has to be at most {most}")


def limited(limits: Mapping[str, Limits], guards: Guards) -> dict[str, Limits]:
    """The limits of sizes, and those that are assumed."""
    found = dict(limits)
    for symbol, most in guards.most.items():
        if symbol not in DATA_SIZES:
            found[symbol.name] = below(found.get(symbol.name, (0, None)), most)
    return found


def below(limits: Limits, most: int | None) -> Limits:
    """Limits of what is at most a number too, if there is one."""
    low, high = limits
    ends = [each for each in (high, most) if each is not None]
    return low, min(ends, default=None)


def limited_size(data_sizes: DataSize, guards: Guards) -> DataSize:
    """A data-dependent size, with the limit that is assumed of it."""
    most = None if data_sizes.traced is None else guards.most.get(data_sizes.traced)
    return replace(data_sizes, limits=below(data_sizes.limits, most))


def merged(limits: Mapping[str, Limits], sizes: Mapping[str, Size]) -> dict[str, Limits]:
    """Limits of what is left of the symbols, which keep those of the sizes that they stand for."""
    found = {name: ends for name, ends in limits.items() if name not in sizes}
    for name in limits.keys() & sizes.keys():
        low, high = limits[name]
        match sizes[name]:
            case int(size) if size < low or (high is not None and size > high):
                raise BadArgument(f"size {name!r} is at least {low} and at most {high}, not {size}")
            case int():
                pass
            case Var(other):
                least, most = found.get(other, (0, None))
                ends = [each for each in (most, high) if each is not None]
                found[other] = max(low, least), min(ends, default=None)
            case size:
                raise NotYet(f"limits of {name!r}, which is {size}")
    return found
