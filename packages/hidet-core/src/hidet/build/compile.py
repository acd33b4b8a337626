"""From a graph to an archive: optimise, partition, schedule, fuse, lower, compile, plan."""

from __future__ import annotations

from itertools import chain

import numpy as np

from hidet import options
from hidet.__about__ import __version__
from hidet.build import ahead
from hidet.build.cache import Cache, key_of
from hidet.build.hoist import hoist
from hidet.build.kernels import Recipes
from hidet.build.planner import Planner, lowered_groups
from hidet.build.record import GraphStages
from hidet.build.schedule import has_schedule, optimized
from hidet.build.target import device_of, target_for
from hidet.build.tuned import tuned
from hidet.build.units import Units
from hidet.fusion.group import Group
from hidet.fusion.partition import partition
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Tensor
from hidet.optimize import split
from hidet.runtime.archive import Archive, read
from hidet.runtime.plan import Plan
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
    chosen = target_for(graph, target)
    # Constants as they were given: passes neither make nor drop any that matters to the caller.
    names = {tensor: f"weight{i}" for i, tensor in enumerate(graph.constants)}
    weights = {name: tensor for tensor, name in names.items()}
    draft = None
    choices: list[str] = []
    if options.search_space.get():
        # What was measured decides what is compiled, so it comes ahead of a look into the cache.
        draft = Draft(graph, chosen, names)
        derived = draft.planners["main"].names
        choices = tuned(lowered_groups(draft.groups["main"]), chosen, device_of(graph), derived)
    if not options.cache.get() or is_watched():
        return Compiled((draft or Draft(graph, chosen, names)).archive(), weights)
    key = key_of(
        graph=canonical(graph),
        target=str(chosen),
        compiler=Units(chosen).compiler(),
        choices=choices,
    )
    made = lambda: (draft or Draft(graph, chosen, names)).archive().to_bytes()  # noqa: E731
    whole = Cache().made(key, made, graph.name)
    return Compiled(read(whole, f"cache entry {key}"), weights)


def plan_graph(graph: FlowGraph, target: Target | str | None = None) -> dict[str, Plan]:
    """The plans that `compile_graph` makes, without binaries: no compiler of kernels is needed."""
    names = {tensor: f"weight{i}" for i, tensor in enumerate(graph.constants)}
    return Draft(graph, target_for(graph, target), names).plans()


def is_watched() -> bool:
    """Whether someone wants to see the stages of compilation, so that they have to take place."""
    asked = (options.dump, options.verbose, options.save_graph, options.profile_passes)
    return any(each.get() for each in asked)


class Draft:
    """A graph optimised and partitioned: what is still open is how its groups are scheduled."""

    def __init__(self, graph: FlowGraph, chosen: Target, names: dict[Tensor, str]) -> None:
        self.stages = GraphStages(graph)
        graph = optimized(graph, chosen, [self.stages])
        self.name, self.target, self.units = graph.name, chosen, Units(chosen)
        parts = split(graph)
        derived = {tensor: f"derived{i}" for i, tensor in enumerate(parts.derived)}
        self.planners = {"main": Planner(parts.main, chosen, self.units, {**names, **derived})}
        if parts.prepare is not None:
            self.planners["prepare"] = Planner(parts.prepare, chosen, self.units, names)
        self.groups = {part: grouped(each.graph, chosen) for part, each in self.planners.items()}

    def archive(self) -> Archive:
        """The archive, without values of weights."""
        with self.units as units:
            ahead.work_out(lowered_groups(chain(*self.groups.values())), units, RECIPES)
            self.write_down()
            binaries, home = units.compile(f"Compiling {self.name}")
        plans = hoist({part: planner.plan(home) for part, planner in self.planners.items()})
        meta = {"hidet": __version__, "options": options.code_key(), "name": self.name}
        return Archive(plans, binaries, {}, meta)

    def plans(self) -> dict[str, Plan]:
        """The plans alone, their kernels in no binary yet."""
        self.write_down()
        home = dict.fromkeys(self.units.functions, "")
        return hoist({part: planner.plan(home) for part, planner in self.planners.items()})

    def write_down(self) -> None:
        """Let the planners write down all groups."""
        for part, planner in self.planners.items():
            planner.run(self.groups[part], RECIPES)
        for part, planner in self.planners.items():
            self.stages.groups(part, planner.groups, self.target)


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
