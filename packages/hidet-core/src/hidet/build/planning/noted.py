"""What profiles tell of kernels: a note on each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from hidet.build.choosing.sizes import plan_size
from hidet.build.planning.places import Positions
from hidet.compute.operations import operations
from hidet.compute.sizes import tidy
from hidet.fusion.group import Group
from hidet.graph.operator import Op
from hidet.runtime.plans.kernel_note import KernelNote
from hidet.runtime.plans.plan import Launch, Plan
from hidet.types import Size


def note(function: str, group: Group, schedule: str, is_main: bool) -> KernelNote:
    """A note on a kernel of a group; all operations of the group are those of its main one."""
    flops: Size = 0
    for node in group.nodes if is_main else ():
        flops = flops + flops_of(node.op)
    names = tuple(node.op.name for node in group.nodes)
    dtype = (group.anchor or group.last).op.types() or (group.last.outputs[0].type,)
    return KernelNote(function, names, schedule, plan_size(tidy(flops)), dtype[0].dtype.name)


@lru_cache(maxsize=4096)
def flops_of(op: Op) -> Size:
    """The floating-point operations of an operator."""
    return operations(op.definition().outputs)


def placed(each: KernelNote, group: Group, positions: Positions) -> KernelNote:
    """The note with the positions of a group's operators in the graph as it was given."""
    here = (node.place for node in group.nodes if node.place is not None)
    found = {positions[place] for place in here if place in positions}
    return replace(each, nodes=tuple(sorted({*each.nodes, *found})))


def with_notes(plan: Plan, notes: Mapping[str, KernelNote]) -> Plan:
    """The plan with the notes on those kernels that it launches."""
    names = dict.fromkeys(step.function for step in plan.steps if isinstance(step, Launch))
    return replace(plan, kernels=tuple(notes[name] for name in names if name in notes))
