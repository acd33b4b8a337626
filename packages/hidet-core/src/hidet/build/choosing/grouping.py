"""From a graph to the groups of operators that share kernels on a target, as its schedules like
them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hidet import options
from hidet.build.choosing.choices import (
    cheapest,
    chosen,
    closed_to,
    has_schedule,
    is_faster,
    is_scheduled_as,
    saved_by_padding,
    saving,
)
from hidet.cost import Work, seconds
from hidet.fusion.group import Group, mark_shared, require_made
from hidet.fusion.horizontal import unite
from hidet.fusion.partition import partition
from hidet.fusion.zero_copy_concat import FASTER, KERNEL, Gain, join
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import Op
from hidet.graph.tensor import Tensor
from hidet.ops.windows.conv import Conv
from hidet.optimize import optimize
from hidet.optimize.instruments import Observer
from hidet.schedules.base import gains_by_channels_last
from hidet.schedules.typical import expected, size_bytes, typical
from hidet.target import Target

MUCH = 1.4
"""How much slower by the cost model a product is that reads several tensors as one, for it to be
worth while to write these side by side: from 1.5 times on networks gained 4 to 36 percent (H200),
of those at 1.25 times one lost 4."""


def optimized(graph: FlowGraph, target: Target, observers: Sequence[Observer] = ()) -> FlowGraph:
    """The graph after all passes, as the schedules for the target like it."""
    several = sum(isinstance(node.op, Conv) for node in graph.nodes) > 1
    return optimize(
        graph,
        observers,
        scheduled=lambda op: has_schedule(op, target),
        channels_last=lambda op: gains_by_channels_last(op, target, several),
        saving=lambda op, other, written: saving(op, other, written, target),
        faster=lambda op, other: is_faster(op, other, target),
        suits=lambda op, product: is_scheduled_as(op, product, target),
        padding=lambda op, other, written: saved_by_padding(op, other, written, target),
    )


def grouped(graph: FlowGraph, target: Target) -> list[Group]:
    """The groups of operators that share kernels on a target."""

    def scheduled(op: Op) -> bool:
        return has_schedule(op, target)

    def gain(group: Group, tensor: Tensor) -> Gain | None:
        return gain_in_memory(group, tensor, target)

    groups = partition(graph, scheduled)
    if options.fusion.get():
        groups = united(join(groups, graph, scheduled, gain), graph, scheduled, target)
    else:
        mark_shared(groups)
    require_made(groups, graph.outputs)
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
    best, free = chosen(group, target), cheapest(group.anchor.op, target)
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
    best, free = chosen(group, target), cheapest(group.anchor.op, target)
    if any(each is tensor for each in closed_to(best.schedule, group)):
        return True
    sizes = [size_bytes(each) for each in typical(tensor.type, target)]
    written = expected([seconds(Work(0, n, 0.0, blocks=target.cores), target) for n in sizes])
    return best.seconds > free.seconds + written - seconds(Work(0, 0, 0.0), target)
