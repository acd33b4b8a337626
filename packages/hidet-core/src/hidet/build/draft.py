"""A graph optimised and partitioned, then scheduled, fused, lowered, compiled and planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain

from hidet import options
from hidet.__about__ import __version__
from hidet.build import ahead
from hidet.build.choosing.grouping import grouped, optimized
from hidet.build.measured.network import Whole
from hidet.build.measured.tuned import tuned
from hidet.build.planning.hoist import hoist
from hidet.build.planning.kernels import Recipes
from hidet.build.planning.noted import with_notes
from hidet.build.planning.places import positions_of
from hidet.build.planning.planner import Follows, Planner, lowered_groups
from hidet.build.reports.record import GraphStages
from hidet.build.stages.bodies import regions
from hidet.build.stages.stages import Stage, cut
from hidet.build.target import device_of, target_for
from hidet.build.workers.units import Units
from hidet.codegen.common.function import Function
from hidet.fusion.group import Group
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Tensor
from hidet.optimize import split
from hidet.runtime.plans.archive import Archive
from hidet.runtime.plans.plan import Plan
from hidet.runtime.progress import at_work
from hidet.target import Target

RECIPES = Recipes()
UNSEEN = {"dump": "", "progress": False}
"""What is looked at is what is built in the end."""


class Draft:
    """A graph optimised and partitioned: what is still open is how its groups are scheduled.

    `names` are those of the graph's constants.
    """

    def __init__(self, graph: FlowGraph, chosen: Target, names: dict[Tensor, str]) -> None:
        self.stages, self.device = GraphStages(graph), device_of(graph)
        self.given, self.names = graph, names
        self.positions = positions_of(graph)
        with at_work(graph.name, "optimizing"):
            graph = optimized(graph, chosen, [self.stages])
        self.name, self.target, self.units = graph.name, chosen, Units(chosen)
        parts = split(graph)
        derived = {tensor: f"derived{i}" for i, tensor in enumerate(parts.derived)}
        self.planners: dict[str, Planner] = {}
        self.groups: dict[str, list[Group]] = {}
        self.add_stages("main", cut(parts.main, parts.derived), {**names, **derived})
        if parts.prepare is not None:
            self.add(Planner(parts.prepare, chosen, self.units, names, "prepare"))

    def add_stages(
        self,
        part: str,
        stages: Sequence[Stage],
        names: dict[Tensor, str],
        given: Sequence[str] | None = None,
    ) -> None:
        """Add what a call or a body does: the first part, and those after it, which begin once
        data-dependent sizes were read."""
        for number, stage in enumerate(stages):
            planner = Planner(stage.graph, self.target, self.units, names, part, given)
            if stages[number + 1 :]:
                planner.follows = Follows(f"{part}.then", stage, placed(stages[number:]))
            self.add(planner)
            part = f"{part}.then"
            data_sizes = (each.size.name for each, _ in stage.data_sizes)
            given = (*planner.symbols, *planner.given, *data_sizes)

    def add(self, planner: Planner) -> None:
        """Partition a part of the graph, and the bodies of control flow in it, which become parts
        of their own at the same sizes."""
        self.planners[planner.part] = planner
        groups = self.groups[planner.part] = grouped(planner.graph, self.target)
        given = (*planner.symbols, *planner.given)
        for _, bodies in regions(planner.part, groups):
            for name, body in bodies.items():
                self.add_stages(name, cut(body.graph), {}, given)

    def tuned(self) -> list[str]:
        """Choose the schedules of what each call computes by measuring; the choices by name."""
        derived = self.planners["main"].names
        called = (self.groups[part] for part in self.groups if not part.startswith("prepare"))
        groups = lowered_groups(chain(*called))
        whole = Whole(self.given, self.names, self.tried, self.functions)
        return tuned(groups, self.target, self.device, derived, whole)

    def tried(self) -> Archive:
        """The archive as the groups are scheduled now, which may change afterwards."""
        units, groups = Units(self.target), lowered_groups(chain(*self.groups.values()))
        planners = {part: each.again(units) for part, each in self.planners.items()}
        reasons = [(group, group.reason) for group in groups]
        with options.options(**UNSEEN), units:
            ahead.work_out(groups, units, RECIPES)
            for part, planner in planners.items():
                planner.run(self.groups[part], RECIPES)
            binaries, home = units.compile("Compiling to measure", map(self.functions, groups))
        for group, reason in reasons:
            group.reason = reason
        plans = {part: planner.plan(home) for part, planner in planners.items()}
        return Archive(hoist(plans), binaries)

    def functions(self, group: Group) -> list[Function]:
        """The functions of a group as it is scheduled now, as archives to measure have them."""
        with options.options(**UNSEEN):
            parts = RECIPES.parts(group, self.target)
        return [function for part in parts for function in part.recipe.functions]

    def archive(self) -> Archive:
        """The archive, without values of weights."""
        with self.units as units:
            with at_work(self.name, "lowering"):
                ahead.work_out(lowered_groups(chain(*self.groups.values())), units, RECIPES)
                self.write_down()
            binaries, home = units.compile(f"{self.name}: compiling")
        meta = {"hidet": __version__, "options": options.code_key(), "name": self.name}
        return Archive(self.planned(home), binaries, {}, meta)

    def plans(self) -> dict[str, Plan]:
        """The plans alone, their kernels in no binary yet."""
        self.write_down()
        return self.planned(dict.fromkeys(self.units.functions, ""))

    def planned(self, home: Mapping[str, str]) -> dict[str, Plan]:
        """The plans; `home` names the binary of each kernel."""
        plans = hoist({part: planner.plan(home) for part, planner in self.planners.items()})
        notes = {k: v for planner in self.planners.values() for k, v in planner.notes.items()}
        return {name: with_notes(plan, notes) for name, plan in plans.items()}

    def write_down(self) -> None:
        """Let the planners write down all groups."""
        for part, planner in self.planners.items():
            planner.run(self.groups[part], RECIPES, self.positions)
        for part, planner in self.planners.items():
            self.stages.groups(part, planner.graph, planner.groups, self.target)


def placed(stages: Sequence[Stage]) -> tuple[int, ...]:
    """Where the results of all stages but the first are among those of all."""
    first, *rest = (each.results for each in stages)
    after = {place for each in rest for place in each}
    return tuple(at for at, place in enumerate(sorted({*first, *after})) if place in after)


def plan_graph(graph: FlowGraph, target: Target | str | None = None) -> dict[str, Plan]:
    """The plans that `compile_graph` makes, without binaries: no compiler of kernels is needed."""
    names = {tensor: f"weight{i}" for i, tensor in enumerate(graph.constants)}
    return Draft(graph, target_for(graph, target), names).plans()
