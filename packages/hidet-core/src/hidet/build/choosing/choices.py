"""What operators may be scheduled as, the cheapest by the cost model first, and what a group's
anchor is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from math import inf
from typing import Any

from hidet import options
from hidet.cost import Work, seconds
from hidet.errors import InternalError
from hidet.fusion.group import Group
from hidet.fusion.parts import is_in_runs, unmapped
from hidet.graph.operator import Op
from hidet.graph.tensor import Tensor
from hidet.schedules import load
from hidet.schedules.base import SCHEDULES, Candidate, Ranking, Schedule, sharing
from hidet.schedules.typical import CALLS, expected, size_bytes, typical
from hidet.target import Target
from hidet.types import TensorType

SURELY = 1.1
"""How much faster by the cost model a schedule is that takes a kernel more: estimates err by so
much, and a kernel more is sure to take its time."""
SPREAD = (*CALLS, 2048)
"""What sizes are in the calls in one of which a schedule is fast that is looked at for others."""
BLOCK_BYTES = 4096
"""What a block of a kernel for elements writes; an estimate."""
BOUNDARY_SECONDS = 0.3e-6
"""What a kernel more takes beside its own time: it and the next one wait for each other's results,
which no launch ahead of time hides; an estimate."""

assert load.LOADED, "importing hidet.schedules.load files every schedule"


def choices(op: Op, target: Target, calls: tuple[int, ...] = ()) -> tuple[Candidate, ...]:
    """The schedules written for this operator that fit it, the cheapest by the cost model first, in
    calls of these sizes or, without any, in typical ones."""
    # The search space says whether points that differ in how sums are shared are all there.
    return known_choices(op, target, calls, (options.code_values(), options.search_space.get()))


def has_schedule(op: Op, target: Target) -> bool:
    """Whether some schedule was written for this operator and fits it."""
    return known_schedule(op, target, options.code_values())


@lru_cache(maxsize=4096)
def known_choices(
    op: Op, target: Target, calls: tuple[int, ...], settings: object
) -> tuple[Candidate, ...]:
    """What was found for them under the options in force, whose values are `settings`."""
    found = ranking(op, target) if calls else known_points(op, target, settings)
    return tuple(sharing(found.candidates(calls)))


@lru_cache(maxsize=32)
def known_points(op: Op, target: Target, settings: object) -> Ranking:
    """The points that fit an operator under the options in force, whose values are `settings`."""
    return Ranking(op, target, SCHEDULES)


def ranking(op: Op, target: Target) -> Ranking:
    """The points that an operator of unknown sizes may have in calls of some sizes; what is
    estimated of them is kept for a while."""
    return narrowed(op, target, (options.code_values(), options.search_space.get()))


@lru_cache(maxsize=32)
def narrowed(op: Op, target: Target, settings: object) -> Ranking:
    """Those of the points that are near the best in some of the calls."""
    return known_points(op, target, settings).narrowed(SPREAD)


@lru_cache(maxsize=4096)
def known_schedule(op: Op, target: Target, settings: object) -> bool:
    """What was found for them under the options in force, whose values are `settings`."""
    return any(schedule.fits(op, target) for schedule in SCHEDULES)


def cheapest(op: Op, target: Target) -> Candidate:
    """The one that an operator has where all that it reads lies in memory."""
    return choices(op, target)[0]


def saving(
    op: Op, other: Op, written: Sequence[TensorType], target: Target, margin: float = 1.0
) -> float:
    """The seconds that another operator saves for which these tensors are written, each by a kernel
    more, if they and it take `margin` times what is said; minus infinity where either has no
    schedule."""
    one, two = choices(op, target), choices(other, target)
    if not (one and two):
        return -inf
    ways = sum(detour(each, target) for each in written)
    return one[0].seconds - margin * (two[0].seconds + ways)


def saved_by_padding(op: Op, other: Op, written: Sequence[TensorType], target: Target) -> float:
    """The same for copies with even rows, as what is saved for sure; on GPUs, whose widest
    accesses and copy engine need these."""
    return saving(op, other, written, target, SURELY) if target.kind == "cuda" else -inf


def is_faster(op: Op, other: Op, target: Target) -> bool:
    """Whether an operator has a schedule, and is no slower than another one, if that has any."""
    one, two = choices(op, target), choices(other, target)
    return bool(one) and (not two or one[0].seconds <= two[0].seconds)


def is_scheduled_as(op: Op, other: Op, target: Target) -> bool:
    """Whether an operator can be computed as another one is, in the cheapest way to do that; how
    many blocks had better share sums may differ. Where only calls tell sizes, in each typical call:
    what is won in small ones is little beside what slower tiles lose in large ones."""
    is_open = target.kind == "cuda" and bool([*op.symbolic_sizes()])
    calls = [(size,) for size in CALLS] if is_open else [()]
    return all(is_scheduled_alike(op, other, target, each) for each in calls)


def is_scheduled_alike(op: Op, other: Op, target: Target, calls: tuple[int, ...]) -> bool:
    """The same in calls of some sizes."""
    ways, others = choices(op, target, calls), choices(other, target, calls)
    if not others:
        return False
    best = others[0].point
    alike = [each.point for each in ways if tiles_of(each.point) == tiles_of(best)]
    return any(replace(each, **asdict(best)).fits(op, target) for each in alike)


def tiles_of(point: Any) -> dict[str, object]:
    """A point without how many blocks share sums."""
    return {name: value for name, value in asdict(point).items() if name != "slices"}


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
    found = choices(group.anchor.op, target, group.calls)
    ways = detours(group, {each.schedule: None for each in found}, target)
    if not any(ways.values()):
        return found
    return tuple(sorted(found, key=lambda each: taken(each.seconds, ways[each.schedule])))


def detours(group: Group, among: Iterable[Schedule], target: Target) -> dict[Schedule, float]:
    """The seconds of the kernels that write what schedules cannot compute where they read it."""
    return {
        each: sum(
            detour(t.type, target, group.calls) for t in operands_without_prologue(each, group)
        )
        for each in among
    }


def taken(seconds: float, way: float) -> float:
    """What counts of the estimates for a kernel and for a way through memory to it."""
    return SURELY * (seconds + way) if way else seconds


def operands_without_prologue(schedule: Schedule, group: Group) -> list[Tensor]:
    """What the group computes and the schedule cannot read: neither by hooks nor as a part."""
    assert group.anchor is not None
    read = group.anchor.inputs
    return [read[place] for place in unread(schedule, group)]


def unread(schedule: Schedule, group: Group) -> dict[int, str]:
    """The positions of operands that the group computes and the schedule cannot read, one of each
    tensor, and why not."""
    assert group.anchor is not None
    given = set(group.inputs)
    found: dict[Tensor, tuple[int, str]] = {}
    for place in schedule.without_prologue:
        tensor = group.anchor.inputs[place]
        if tensor not in given and (why := obstacle(schedule, group, place)):
            found.setdefault(tensor, (place, why))
    return dict(found.values())


def obstacle(schedule: Schedule, group: Group, place: int) -> str:
    """Why a schedule without a prologue there cannot read what a group computes, else nothing."""
    assert group.anchor is not None
    tensor = group.anchor.inputs[place]
    if schedule.view is not None:
        return unmapped(group, tensor, schedule.view(group.anchor.op, place))
    runs = schedule.run and is_in_runs(group, tensor, schedule.run)
    return "" if runs else "it reads whole tensors"


def detour(tensor: TensorType, target: Target, calls: Sequence[int] = ()) -> float:
    """The seconds of a kernel that writes a tensor, from as much of others."""
    sizes = [size_bytes(each) for each in typical(tensor, target, calls)]
    works = [Work(n, n, 0.0, blocks=max(1, int(n) // BLOCK_BYTES)) for n in sizes]
    return BOUNDARY_SECONDS + expected([seconds(work, target) for work in works])
