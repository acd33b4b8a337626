"""From a group of operators to scheduled, fused kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from hidet.build.choosing.choices import chosen, detour, operands_without_prologue, ranked
from hidet.compute import Grid
from hidet.fusion.accumulator_epilogue import accumulator_epilogue, has_accumulator_epilogue
from hidet.fusion.compose import compose, leading_to, operands
from hidet.fusion.epilogue_definition import EpilogueDefinition
from hidet.fusion.fuse import fuse
from hidet.fusion.group import Group, mark_shared
from hidet.fusion.inside import Window, write_inside
from hidet.fusion.neighbours import has_neighbours
from hidet.fusion.output_views import copying
from hidet.fusion.ports import ports
from hidet.graph.tensor import Tensor
from hidet.ir.kernel import Module
from hidet.schedules import automatic_schedule
from hidet.schedules.base import AUTOMATIC, Candidate
from hidet.target import Target

TRIED = 6
"""How many candidates of each schedule are looked at for one whose threads hold neighbours: each is
built."""


@dataclass(frozen=True)
class Implemented:
    """A group with the module that computes it: parameters are its inputs, then its results."""

    group: Group
    module: Module
    schedule: str


def implement(group: Group, target: Target) -> list[Implemented]:
    """Kernels for a group: one module, or several where a schedule leaves no way in or out."""
    if group.output_views:
        return within(group, target)
    if group.anchor is None or group.choice == AUTOMATIC:
        return [Implemented(group, composed(group, target), "automatic")]
    best = chosen(group, target)
    ahead = operands_without_prologue(best.schedule, group)
    if ahead:
        return [part for each in set_apart(group, ahead) for part in implement(each, target)]
    count = neighbours(group)
    best, module = holding(group, target, best, count)
    if len(group.nodes) == 1 and len(set(group.anchor.inputs)) == len(group.anchor.inputs):
        return [Implemented(group, module, best.schedule.name)]
    parts = [group.anchor.inputs[place] for place in best.schedule.without_prologue]
    if not reachable(group, module, count, parts):
        return [part for each in split(group) for part in implement(each, target)]
    return [Implemented(group, fuse(group, module), best.schedule.name)]


def holding(group: Group, target: Target, best: Candidate, count: int) -> tuple[Candidate, Module]:
    """The best candidate, or one of the next few whose threads hold so many neighbours, of which
    one element of the group's results is made, where that takes less time than a kernel more; and
    its kernels."""
    assert group.anchor is not None
    module = scheduled(group, target, best)
    if group.choice is not None or holds(module, count):
        return best, module
    limit = best.seconds + detour(group.anchor.outputs[0].type, target, group.calls)
    others = (
        each
        for each in ranked(group, target)
        if not operands_without_prologue(each.schedule, group)
    )
    tried: Counter[str] = Counter()
    for each in others:
        tried[each.schedule.name] += 1
        if each.seconds <= limit and tried[each.schedule.name] <= TRIED:
            other = scheduled(group, target, each)
            if holds(other, count):
                return each, other
    return best, module


def scheduled(group: Group, target: Target, candidate: Candidate) -> Module:
    """The kernels of a group's anchor."""
    assert group.anchor is not None
    after = accumulator_epilogue(group) if candidate.schedule.accumulator_epilogue else None
    return candidate.schedule.apply(group.anchor.op, target, candidate.point, after).module


def neighbours(group: Group) -> int:
    """Of how many neighbours of the anchor's result an element of the group's results is made."""
    if group.last is group.anchor:
        return 1
    where = EpilogueDefinition(group).landings() or {}
    return max((each.neighbours for each in where.values()), default=1)


def holds(module: Module, count: int) -> bool:
    """Whether so many neighbours of a module's result are written by one thread."""
    return (
        count == 1
        or has_accumulator_epilogue(module)
        or has_neighbours(module, module.params[-1], count)
    )


def within(group: Group, target: Target) -> list[Implemented]:
    """Kernels for a group whose result goes to places in larger tensors.

    Where a schedule writes it without hooks, kernels that copy it come after.
    """
    *before, made = implement(group.apart, target)
    if made.module.params[-1] in ports(made.module):
        windows = [Window(each.tensor.type, each.starts) for each in group.output_views]
        module = write_inside(made.module, windows, group.stored)
        whole = replace(made.group, output_views=group.output_views, stored=group.stored)
        return [*before, Implemented(whole, module, made.schedule)]
    copies = [copying(group.last.outputs[0], each) for each in group.output_views]
    return [*before, made, *(part for each in copies for part in implement(each, target))]


def composed(group: Group, target: Target) -> Module:
    """The automatic schedule of the group's operators as one definition."""
    inputs = operands(group.inputs)
    known: dict[Tensor, Grid] = dict(inputs)
    grids = compose(group.nodes, known, group.rounded)
    outputs = [grids[each] for each in group.results]
    return automatic_schedule(group.name, list(inputs.values()), outputs, target)


def reachable(group: Group, module: Module, count: int, parts: Collection[Tensor] = ()) -> bool:
    """Whether the operands that the group computes, `parts` of others aside, and its result go
    through hooks, `count` neighbours of the anchor's at once."""
    assert group.anchor is not None
    hooks = ports(module)
    given = {*group.inputs, *parts}
    needed = [
        var
        for tensor, var in zip(group.anchor.inputs, module.params, strict=False)
        if tensor not in given
    ]
    if group.last is not group.anchor:
        needed.append(module.params[-1])
        if not holds(module, count):
            return False
    return all(var in hooks for var in needed)


def set_apart(group: Group, tensors: Sequence[Tensor]) -> list[Group]:
    """What computes each of `tensors` as a group of its own, then the rest of the group."""
    assert group.anchor is not None
    parts = [Group(leading_to([each], group.nodes)) for each in tensors]
    stored = {each for part in parts for each in part.results}
    rest = leading_to(group.results, [n for n in group.nodes if not stored & set(n.outputs)])
    parts.append(Group(rest, group.anchor, also=group.also, choice=group.choice, calls=group.calls))
    mark_shared(parts, group.shared)
    for part in parts:
        part.reason = f"the schedule of {group.anchor.op.name} reads whole tiles from memory"
    return parts


def split(group: Group) -> list[Group]:
    """The prologues, the anchor and the epilogue of a group as groups of their own."""
    anchor = group.anchor
    assert anchor is not None
    parts = []
    for tensor in dict.fromkeys(anchor.inputs):
        chain = leading_to([tensor], group.nodes)
        if chain:
            parts.append(Group(chain))
    parts.append(Group([anchor], anchor, choice=group.choice, calls=group.calls))
    stored = {*anchor.outputs, *(each for part in parts for each in part.results)}
    after = leading_to(group.results, [n for n in group.nodes if not stored & set(n.outputs)])
    if after:
        parts.append(Group(after, also=tuple(each for each in group.also if each not in stored)))
    mark_shared(parts, group.shared)
    for part in parts:
        part.reason = f"the schedule of {anchor.op.name} has no hook for it"
    return parts
