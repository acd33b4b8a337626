"""From a group of operators to scheduled, fused kernels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from hidet import options
from hidet.compute import Grid
from hidet.cost import Work, seconds
from hidet.errors import InternalError
from hidet.fusion.compose import compose, leading_to, operands
from hidet.fusion.following import Following
from hidet.fusion.fuse import fuse
from hidet.fusion.group import Group, mark_shared
from hidet.fusion.insets import copying
from hidet.fusion.inside import Window, write_inside
from hidet.fusion.joins import FASTER, KERNEL, Gain, join
from hidet.fusion.pairs import has_pairs
from hidet.fusion.partition import partition
from hidet.fusion.parts import is_part
from hidet.fusion.ports import ports
from hidet.fusion.settle import settled, settles
from hidet.fusion.siblings import unite
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import Op
from hidet.graph.tensor import Tensor
from hidet.ir.kernel import Module
from hidet.optimize import optimize
from hidet.optimize.instruments import Observer
from hidet.schedules import automatic, load
from hidet.schedules.base import (
    AUTOMATIC,
    SCHEDULES,
    Candidate,
    Schedule,
    candidates,
    gains_by_channels_last,
)
from hidet.schedules.contraction import size_bytes
from hidet.target import Target
from hidet.types import TensorType

MUCH = 1.4
"""How much slower by the cost model a product is that reads several tensors as one, for it to be
worth while to write these side by side: from 1.5 times on networks gained 4 to 36 percent (H200),
of those at 1.25 times one lost 4."""
SURELY = 1.1
"""How much faster by the cost model a schedule is that takes a kernel more: estimates err by so
much, and a kernel more is sure to take its time."""
BLOCK_BYTES = 4096
"""What a block of a kernel for elements writes; an estimate."""
BOUNDARY_SECONDS = 0.3e-6
"""What a kernel more takes beside its own time: it and the next one wait for each other's results,
which no launch ahead of time hides; an estimate."""


@dataclass(frozen=True)
class Implemented:
    """A group with the module that computes it: parameters are its inputs, then its results."""

    group: Group
    module: Module
    schedule: str


assert load.LOADED, "importing hidet.schedules.load files every schedule"


def choices(op: Op, target: Target) -> tuple[Candidate, ...]:
    """The schedules written for this operator that fit it, the cheapest by the cost model first."""
    # The search space says whether points that differ in how sums are shared are all there.
    return known_choices(op, target, (options.code_values(), options.search_space.get()))


def has_schedule(op: Op, target: Target) -> bool:
    """Whether some schedule was written for this operator and fits it."""
    return known_schedule(op, target, options.code_values())


@lru_cache(maxsize=4096)
def known_choices(op: Op, target: Target, settings: object) -> tuple[Candidate, ...]:
    """What was found for them under the options in force, whose values are `settings`."""
    return tuple(candidates(op, target))


@lru_cache(maxsize=4096)
def known_schedule(op: Op, target: Target, settings: object) -> bool:
    """What was found for them under the options in force, whose values are `settings`."""
    return any(schedule.fits(op, target) for schedule in SCHEDULES)


def optimized(graph: FlowGraph, target: Target, observers: Sequence[Observer] = ()) -> FlowGraph:
    """The graph after all passes, as the schedules for the target like it."""
    return optimize(
        graph,
        observers,
        scheduled=lambda op: has_schedule(op, target),
        channels_last=lambda op: gains_by_channels_last(op, target),
        slower=lambda op, other: is_slower(op, other, target),
        suits=lambda op, product: is_scheduled_as(op, product, target),
    )


def is_slower(op: Op, other: Op, target: Target) -> bool:
    """Whether an operator is slower than another one, whose first operand takes a kernel more to be
    written."""
    one, two = choices(op, target), choices(other, target)
    written = detour(other.operands()[0], target)
    return bool(one and two) and one[0].seconds > two[0].seconds + written


def is_scheduled_as(op: Op, other: Op, target: Target) -> bool:
    """Whether an operator can be computed as another one is, in the cheapest way to do that; how
    many blocks had better share sums may differ."""
    ways, others = choices(op, target), choices(other, target)
    if not others:
        return False
    best = others[0].point
    alike = [each.point for each in ways if tiles_of(each.point) == tiles_of(best)]
    return any(replace(each, **asdict(best)).fits(op, target) for each in alike)


def tiles_of(point: Any) -> dict[str, object]:
    """A point without how many blocks share sums."""
    return {name: value for name, value in asdict(point).items() if name != "slices"}


def grouped(graph: FlowGraph, target: Target) -> list[Group]:
    """The groups of operators that share kernels on a target."""

    def scheduled(op: Op) -> bool:
        return has_schedule(op, target)

    def gain(group: Group, tensor: Tensor) -> Gain | None:
        return gain_in_memory(group, tensor, target)

    groups = partition(graph, scheduled)
    if options.fusion.get():
        return united(join(groups, graph, scheduled, gain), graph, scheduled, target)
    mark_shared(groups)
    return groups


def united(
    groups: Sequence[Group], graph: FlowGraph, scheduled: Callable[[Op], bool], target: Target
) -> list[Group]:
    """The groups with elements made where what they are made of is, as `unite` does it; each knows
    what it shares with others."""

    def handed(group: Group, tensor: Tensor) -> bool:
        return is_better_read(group, tensor, target)

    made = unite(groups, graph, scheduled, handed)
    mark_shared(made)
    return made


def gain_in_memory(group: Group, tensor: Tensor, target: Target) -> Gain | None:
    """What it is worth that a group's anchor finds in memory what the group would compute.

    A kernel, where its schedule reads that from memory anyway; maybe a much faster schedule.
    """
    assert group.anchor is not None
    best, free = chosen(group, target), choices(group.anchor.op, target)[0]
    if any(each is tensor for each in closed_to(best.schedule, group)):
        return KERNEL
    return FASTER if best.seconds > MUCH * free.seconds else None


def is_better_read(group: Group, tensor: Tensor, target: Target) -> bool:
    """Whether a group's anchor had better read what the group would compute, if another kernel
    writes it along with what that is computed from.

    Estimates do not count what it takes to compute it where it is read, and nobody has a kernel
    more: so there is no margin.
    """
    assert group.anchor is not None
    best, free = chosen(group, target), choices(group.anchor.op, target)[0]
    if any(each is tensor for each in closed_to(best.schedule, group)):
        return True
    written = seconds(Work(0, size_bytes(tensor.type), 0.0, blocks=target.cores), target)
    return best.seconds > free.seconds + written - seconds(Work(0, 0, 0.0), target)


def implement(group: Group, target: Target) -> list[Implemented]:
    """Kernels for a group: one module, or several where a schedule leaves no way in or out."""
    if group.insets:
        return within(group, target)
    if group.anchor is None or group.choice == AUTOMATIC:
        return [Implemented(group, composed(group, target), "automatic")]
    best = chosen(group, target)
    ahead = closed_to(best.schedule, group)
    if ahead:
        return [part for each in set_apart(group, ahead) for part in implement(each, target)]
    after = settled(group) if best.schedule.settles else None
    module = best.schedule.apply(group.anchor.op, target, best.point, after).module
    if len(group.nodes) == 1 and len(set(group.anchor.inputs)) == len(group.anchor.inputs):
        return [Implemented(group, module, best.schedule.name)]
    parts = [group.anchor.inputs[place] for place in best.schedule.closed]
    if not reachable(group, module, parts):
        return [part for each in split(group) for part in implement(each, target)]
    return [Implemented(group, fuse(group, module), best.schedule.name)]


def within(group: Group, target: Target) -> list[Implemented]:
    """Kernels for a group whose result goes to places in larger tensors.

    Where a schedule writes it without hooks, kernels that copy it come after.
    """
    *before, made = implement(group.apart, target)
    if made.module.params[-1] in ports(made.module):
        windows = [Window(each.tensor.type, each.starts) for each in group.insets]
        module = write_inside(made.module, windows, group.stored)
        whole = replace(made.group, insets=group.insets, stored=group.stored)
        return [*before, Implemented(whole, module, made.schedule)]
    copies = [copying(group.last.outputs[0], each) for each in group.insets]
    return [*before, made, *(part for each in copies for part in implement(each, target))]


def chosen(group: Group, target: Target) -> Candidate:
    """The candidate that was chosen; without a choice the cheapest by the cost model."""
    found = ranked(group, target)
    if group.choice is None:
        return found[0]
    for each in found:
        if each.choice == group.choice:
            return each
    raise InternalError(f"{group.choice} does not fit {group.anchor!r} on {target}")


def ranked(group: Group, target: Target) -> tuple[Candidate, ...]:
    """The candidates for a group's anchor, the cheapest first by the cost model.

    What a schedule cannot compute where it reads it takes a kernel, and a way through memory.
    """
    assert group.anchor is not None
    found = choices(group.anchor.op, target)
    detours = {
        each.schedule.name: sum(detour(t.type, target) for t in closed_to(each.schedule, group))
        for each in found
    }
    if not any(detours.values()):
        return found

    def taken(each: Candidate) -> float:
        way = detours[each.schedule.name]
        return SURELY * (each.seconds + way) if way else each.seconds

    return tuple(sorted(found, key=taken))


def closed_to(schedule: Schedule, group: Group) -> list[Tensor]:
    """What the group computes and the schedule cannot read: neither by hooks nor as a part."""
    assert group.anchor is not None
    given = set(group.inputs)
    read = [group.anchor.inputs[place] for place in schedule.closed]
    computed = [tensor for tensor in dict.fromkeys(read) if tensor not in given]
    if not schedule.run:
        return computed
    return [tensor for tensor in computed if not is_part(group, tensor, schedule.run)]


def detour(tensor: TensorType, target: Target) -> float:
    """The seconds of a kernel that writes a tensor, from as much of others."""
    nbytes = size_bytes(tensor)
    work = Work(nbytes, nbytes, 0.0, blocks=max(1, int(nbytes) // BLOCK_BYTES))
    return BOUNDARY_SECONDS + seconds(work, target)


def composed(group: Group, target: Target) -> Module:
    """The automatic schedule of the group's operators as one definition."""
    inputs = operands(group.inputs)
    known: dict[Tensor, Grid] = dict(inputs)
    grids = compose(group.nodes, known, group.rounded)
    outputs = [grids[each] for each in group.results]
    return automatic(group.name, list(inputs.values()), outputs, target)


def reachable(group: Group, module: Module, parts: Collection[Tensor] = ()) -> bool:
    """Whether the operands that the group computes, `parts` of others aside, and its result go
    through hooks."""
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
        where = Following(group).landings() or {}
        paired = any(each.pairs for each in where.values())
        if paired and not (settles(module) or has_pairs(module, needed[-1])):
            return False
    return all(var in hooks for var in needed)


def set_apart(group: Group, tensors: Sequence[Tensor]) -> list[Group]:
    """What computes each of `tensors` as a group of its own, then the rest of the group."""
    assert group.anchor is not None
    parts = [Group(leading_to([each], group.nodes)) for each in tensors]
    stored = {each for part in parts for each in part.results}
    rest = leading_to(group.results, [n for n in group.nodes if not stored & set(n.outputs)])
    parts.append(Group(rest, group.anchor, also=group.also, choice=group.choice))
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
    parts.append(Group([anchor], anchor, choice=group.choice))
    stored = {*anchor.outputs, *(each for part in parts for each in part.results)}
    after = leading_to(group.results, [n for n in group.nodes if not stored & set(n.outputs)])
    if after:
        parts.append(Group(after, also=tuple(each for each in group.also if each not in stored)))
    mark_shared(parts, group.shared)
    for part in parts:
        part.reason = f"the schedule of {anchor.op.name} has no hook for it"
    return parts
