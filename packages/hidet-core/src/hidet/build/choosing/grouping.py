"""From a graph to the groups of operators that share kernels on a target, as its schedules like
them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from hidet import options
from hidet.build.choosing.choices import (
    cheapest,
    chosen,
    has_schedule,
    is_faster,
    is_scheduled_as,
    operands_without_prologue,
    saved_by_padding,
    saving,
)
from hidet.cost import Work, seconds
from hidet.fusion.compose import leading_to
from hidet.fusion.group import Group, mark_shared, require_made
from hidet.fusion.horizontal import unite
from hidet.fusion.partition import partition
from hidet.fusion.repeating import weight
from hidet.fusion.zero_copy_concat import FASTER, KERNEL, Gain, join
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import Op
from hidet.graph.tensor import Tensor
from hidet.ops.windows.conv import Conv
from hidet.optimize import optimize
from hidet.optimize.instruments import Observer
from hidet.schedules.base import Candidate, gains_by_channels_last
from hidet.schedules.typical import estimated, expected, size_bytes, typical
from hidet.target import Target

MUCH = 1.4
"""How much slower by the cost model a product is that reads several tensors as one, for it to be
worth while to write these side by side: from 1.5 times on networks gained 4 to 36 percent (H200),
of those at 1.25 times one lost 4."""
LOAD_FLOPS = 8.0
"""What a multiprocessor computes while it begins a load: a warp's load takes a cycle, in which
threads of four warps multiply and add."""


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

    def in_memory(group: Group, tensor: Tensor) -> bool:
        return is_better_read(group, tensor, target)

    made = unite(groups, graph, scheduled, in_memory)
    mark_shared(made)
    return made


def gain_in_memory(group: Group, tensor: Tensor, target: Target) -> Gain | None:
    """What it is worth that a group's anchor finds in memory what the group would compute.

    A kernel, where its schedule reads that from memory anyway; maybe a much faster schedule.
    """
    assert group.anchor is not None
    best, free = chosen(group, target), cheapest(group.anchor.op, target)
    if any(each is tensor for each in operands_without_prologue(best.schedule, group)):
        return KERNEL
    return FASTER if best.seconds > MUCH * free.seconds else None


def is_better_read(group: Group, tensor: Tensor, target: Target) -> bool:
    """Whether a group's anchor had better read what the group would compute, if another kernel
    writes it along with what that is computed from.

    Nobody has a kernel more: so there is no margin.
    """
    assert group.anchor is not None
    best, free = chosen(group, target), cheapest(group.anchor.op, target)
    if any(each is tensor for each in operands_without_prologue(best.schedule, group)):
        return True
    sizes = [size_bytes(each) for each in typical(tensor.type, target)]
    written = expected([seconds(Work(0, n, 0.0, blocks=target.cores), target) for n in sizes])
    computed = best.seconds + prologue_seconds(group, tensor, best, target)
    return computed > free.seconds + written - seconds(Work(0, 0, 0.0), target)


def prologue_seconds(group: Group, tensor: Tensor, best: Candidate, target: Target) -> float:
    """What it takes a GPU's blocks to compute an operand of the anchor instead of reading it, if
    each element is computed once.

    A block waits for what else an element is made of while it has nothing else to do. On CPUs,
    where loads are foreseen, nothing counts.
    """
    assert group.anchor is not None
    if target.kind != "cuda":
        return 0.0
    chain = leading_to([tensor], group.nodes)
    others = len(Group(chain).inputs) - 1
    place = next(n for n, each in enumerate(group.anchor.inputs) if each is tensor)
    found = []
    for op in typical(group.anchor.op, target):
        work = best.point.work(op, target)
        count = prod(map(estimated, op.types()[place].shape))
        spread = Work(0, 0, 0.0, blocks=work.blocks, block_threads=work.block_threads)
        flops = count * (2.0 * weight(chain) + LOAD_FLOPS * others)
        busy = replace(spread, flops=flops, latencies=others)
        found.append(seconds(busy, target) - seconds(spread, target))
    return expected(found)
