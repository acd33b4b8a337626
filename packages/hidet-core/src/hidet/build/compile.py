"""From a graph to an archive: optimise, partition, schedule, fuse, lower, compile, plan."""

from __future__ import annotations

from itertools import chain

import numpy as np

from hidet import options
from hidet.__about__ import __version__
from hidet.build import ahead
from hidet.build.cache import Cache, key_of
from hidet.build.kernels import Recipes
from hidet.build.planner import Planner, lowered_groups
from hidet.build.record import GraphStages
from hidet.build.schedule import has_schedule
from hidet.build.target import target_for
from hidet.build.units import Units
from hidet.fusion.group import Group
from hidet.fusion.partition import partition
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Tensor
from hidet.optimize import optimize, split
from hidet.runtime.archive import Archive, read
from hidet.target import Target

RECIPES = Recipes()


class Compiled:
    """A compiled graph: the archive, and the tensors behind its weights by name."""

    def __init__(self, archive: Archive, weights: dict[str, Tensor]) -> None:
        self.archive = archive
        self.weights = weights

    def with_weights(self) -> Archive:
        """The archive with the values of those weights that lie in the host's memory."""
        values = {
            name: tensor.storage
            for name, tensor in self.weights.items()
            if isinstance(tensor.storage, np.ndarray)
        }
        return Archive(self.archive.plans, self.archive.binaries, values, self.archive.meta)


def compile_graph(graph: FlowGraph, target: Target | str | None = None) -> Compiled:
    """Compile a graph for `target`: a Target or its text, by default that of the graph's device.

    Weights are named by their order of use; those that lie in the host's memory go into the archive
    when it is saved.
    """
    options.warn_of_pending()
    chosen = target_for(graph, target)
    # Constants as they were given: passes neither make nor drop any that matters to the caller.
    names = {tensor: f"weight{i}" for i, tensor in enumerate(graph.constants)}
    weights = {name: tensor for tensor, name in names.items()}
    if not options.cache.get() or options.dump.get():
        return Compiled(built(graph, chosen, names), weights)
    key = key_of(
        graph=canonical(graph),
        target=str(chosen),
        compiler=Units(chosen).compiler(),
    )
    whole = Cache().made(key, lambda: built(graph, chosen, names).to_bytes(), graph.name)
    return Compiled(read(whole, f"cache entry {key}"), weights)


def built(graph: FlowGraph, chosen: Target, names: dict[Tensor, str]) -> Archive:
    """The archive of a graph, without values of weights."""
    stages = GraphStages(graph)
    graph = optimize(graph, [stages], lambda op: has_schedule(op, chosen))
    parts = split(graph)
    derived = {tensor: f"derived{i}" for i, tensor in enumerate(parts.derived)}
    with Units(chosen) as units:
        planners = {"main": Planner(parts.main, chosen, units, {**names, **derived})}
        if parts.prepare is not None:
            planners["prepare"] = Planner(parts.prepare, chosen, units, names)
        groups = {name: grouped(planner.graph, chosen) for name, planner in planners.items()}
        ahead.work_out(lowered_groups(chain(*groups.values())), units, RECIPES)
        for name, planner in planners.items():
            planner.run(groups[name], RECIPES)
        for part, planner in planners.items():
            stages.groups(part, planner.groups, chosen)
        binaries, home = units.compile(f"Compiling {graph.name}")
    plans = {name: planner.plan(home) for name, planner in planners.items()}
    meta = {"hidet": __version__, "options": options.code_key(), "name": graph.name}
    return Archive(plans, binaries, {}, meta)


def canonical(graph: FlowGraph) -> list[str]:
    """A graph as text that depends on what it computes, not on names or values."""
    numbers = {tensor: f"i{i}" for i, tensor in enumerate(graph.inputs)}
    numbers |= {tensor: f"c{i}" for i, tensor in enumerate(graph.constants)}
    lines = [f"{number}: {tensor.type} {tensor.device}" for tensor, number in numbers.items()]
    for node in graph.nodes:
        read = [numbers[each] for each in node.inputs]
        for each in node.outputs:
            numbers[each] = f"t{len(numbers)}"
        lines.append(f"{[numbers[each] for each in node.outputs]} = {node.op!r} {read}")
    lines.append(str([numbers[each] for each in graph.outputs]))
    return lines


def grouped(graph: FlowGraph, target: Target) -> list[Group]:
    """The groups of one part."""
    return partition(graph, lambda op: has_schedule(op, target))
