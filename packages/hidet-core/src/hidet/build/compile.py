"""From a graph to an archive: optimise, partition, schedule, fuse, lower, compile, plan."""

from __future__ import annotations

import numpy as np

from hidet import options
from hidet.__about__ import __version__
from hidet.build.kernels import Recipes
from hidet.build.planner import Planner
from hidet.build.schedule import has_schedule
from hidet.build.target import target_for
from hidet.build.units import Units
from hidet.fusion.partition import partition
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Tensor
from hidet.optimize import optimize, split
from hidet.runtime.archive import Archive
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
    graph = optimize(graph)
    parts = split(graph)
    names = {tensor: f"weight{i}" for i, tensor in enumerate(graph.constants)}
    derived = {tensor: f"derived{i}" for i, tensor in enumerate(parts.derived)}
    units = Units(chosen)
    planners = {"main": planned(parts.main, chosen, units, {**names, **derived})}
    if parts.prepare is not None:
        planners["prepare"] = planned(parts.prepare, chosen, units, names)
    binaries, home = units.compile(f"Compiling {graph.name}")
    plans = {name: planner.plan(home) for name, planner in planners.items()}
    meta = {"hidet": __version__, "options": options.code_key(), "name": graph.name}
    weights = {name: tensor for tensor, name in names.items()}
    return Compiled(Archive(plans, binaries, {}, meta), weights)


def planned(graph: FlowGraph, target: Target, units: Units, names: dict[Tensor, str]) -> Planner:
    """The planner of one part, with all launches written down."""
    groups = partition(graph, lambda op: has_schedule(op, target))
    planner = Planner(graph, target, units, names)
    planner.run(groups, RECIPES)
    return planner
