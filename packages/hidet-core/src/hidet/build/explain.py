"""Which operators share a kernel, and why others do not: as text."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.build.schedule import chosen, grouped, optimized
from hidet.build.target import target_for
from hidet.fusion import Group
from hidet.graph.flow import FlowGraph
from hidet.optimize import split
from hidet.target import Target


def explain_fusion(graph: FlowGraph, target: Target | str | None = None) -> str:
    """The groups of operators that a compilation of `graph` would make, nothing compiled.

    Those of `prepare` run once, before the first call; those of `main` at each call. For each group
    come its operators, the schedule of its anchor, and why its neighbours are apart.
    """
    found = target_for(graph, target)
    parts = split(optimized(graph, found))
    texts = []
    for name, part in (("prepare", parts.prepare), ("main", parts.main)):
        if part is not None:
            groups = grouped(part, found)
            count = sum(not group.is_free for group in groups)
            texts.append(f"{name}: {count} groups\n{described(groups, found)}")
    return "\n".join(texts)


def described(groups: Sequence[Group], target: Target) -> str:
    """A line for each group, for each operator in it, and for each reason."""
    lines = []
    for group in groups:
        lines.append(f"{group.name}: {manner(group, target)}")
        lines += [f"    {node.op!r}" for node in group.nodes]
        notes = [group.reason] if group.reason else []
        lines += [f"    apart: {note}" for note in (*notes, *group.notes)]
    return "\n".join(lines)


def manner(group: Group, target: Target) -> str:
    """How a group is computed."""
    if group.is_shape:
        return "another shape of what lies in memory, no kernel"
    if group.joins:
        return "written part by part where it lies, no kernel"
    if group.anchor is None:
        return "no anchor"
    best = chosen(group, target)
    return f"anchor {group.anchor.op.name}, schedule {best.schedule.name}, {best.point}"
