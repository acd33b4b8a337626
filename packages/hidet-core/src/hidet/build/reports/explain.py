"""Which operators share a kernel, and why others do not: as text."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from hidet.build.choosing.choices import chosen, has_schedule
from hidet.build.choosing.grouping import grouped, optimized
from hidet.build.choosing.hindrances import conversion, detoured, hindrance, units
from hidet.build.choosing.schedule import holding, neighbours
from hidet.build.choosing.variants import variants
from hidet.build.reports.long_transforms import long_transforms
from hidet.build.stages.bodies import regions
from hidet.build.stages.host_driven import host_reasons
from hidet.build.stages.stages import cut
from hidet.build.target import target_for
from hidet.fusion import Group
from hidet.fusion.reasons import MOST
from hidet.fusion.repeating import weight
from hidet.fusion.roles import Role, Roles
from hidet.graph.body import Region
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node, Tensor
from hidet.optimize import split
from hidet.runtime.binding.bound import spelled
from hidet.runtime.plans.sizes import Relation
from hidet.schedules.base import Candidate
from hidet.target import Target


def explain_fusion(graph: FlowGraph, target: Target | str | None = None) -> str:
    """The groups of operators that a compilation of `graph` would make, nothing compiled.

    Those of `prepare` run once, before the first call; those of `main` at each call, those of
    `main.then` after it, once sizes that depend on data were read. Bodies of control flow come
    after the plan that runs them, as `main.loop3.body`. For each group come its operators, the
    schedule of its anchor, and for each operator that reads its results from memory why it is
    apart.
    """
    found = target_for(graph, target)
    parts = split(optimized(graph, found))
    texts: list[str] = []
    stages = cut(parts.main, parts.derived)
    called = (("main" + ".then" * n, stage.graph) for n, stage in enumerate(stages))
    for name, part in (("prepare", parts.prepare), *called):
        if part is not None:
            texts += explained(name, part, found)
    texts += [f"slower than elsewhere: {why}" for why in long_transforms(graph, found)]
    return "\n".join(texts)


def explained(name: str, graph: FlowGraph, target: Target) -> Iterator[str]:
    """What becomes of a graph, then of the bodies of its control flow, as plans of these names."""
    groups = grouped(graph, target)
    count = sum(group.last.op.kind == "kernels" and not group.is_free for group in groups)
    noun = "kernel" if count == 1 else "kernels"
    yield f"{name}: {count} {noun}\n{described(groups, target, graph.outputs)}"
    for _, bodies in regions(name, groups):
        for part, body in bodies.items():
            yield from explained(part, body.graph, target)


def described(groups: Sequence[Group], target: Target, outputs: Collection[Tensor]) -> str:
    """A line for each group, for each operator in it, and for each reason; `outputs` are those of
    the graph."""
    apart = Apart(groups, target, outputs)
    lines = []
    for group in groups:
        lines.append(f"{group.name}: {manner(group, target)}")
        lines += [f"    {node.op!r}" for node in group.nodes]
        lines += [f"    where {each}" for each in ranges(group, target)]
        lines += [f"    faster: {why}" for why in faster(group, target)]
        lines += [f"    slower: {why}" for why in slower(group, target)]
        lines += [f"    apart: {why}" for why in apart.reasons(group)]
    return "\n".join(lines)


def manner(group: Group, target: Target) -> str:
    """How a group is computed."""
    if group.is_shape:
        return "another shape of what lies in memory, no kernel"
    if group.is_concat:
        return "written part by part where it lies, no kernel"
    if isinstance(group.last.op, Region):
        return controlled(group.last.op, target)
    group = (
        group.apart if group.output_views else group
    )  # as it is before its result goes elsewhere
    if group.anchor is None:
        return "automatic schedule"
    return f"anchor {group.anchor.op.name}, {way(group, target)}"


def way(group: Group, target: Target) -> str:
    """How a group's anchor is computed."""
    assert group.anchor is not None
    best = best_of(group, target)
    on = units(group.anchor.op, best, target)
    where = f" on {on}" if on else ""
    return f"schedule {best.schedule.name}{where}, {best.point}"


def ranges(group: Group, target: Target) -> Iterator[str]:
    """The ranges of sizes that have a way of their own, and how a group is computed there."""
    group = group.apart if group.output_views else group
    found = [] if group.is_free else variants(group, target)
    for each in found if len(found) > 1 else ():
        yield f"{' and '.join(map(written, each.when))}: {way(each.group, target)}"


def written(relation: Relation) -> str:
    """A relation of sizes as people write it."""
    return f"{spelled(relation.left)} {relation.sign} {spelled(relation.right)}"


def best_of(group: Group, target: Target) -> Candidate:
    """What computes a group that has an anchor."""
    best, count = chosen(group, target), neighbours(group)
    return best if count == 1 else holding(group, target, best, count)[0]


def faster(group: Group, target: Target) -> Iterator[str]:
    """Why a group has no faster schedule, where another one would be."""
    has_kernel = not (group.is_shape or group.is_concat or isinstance(group.last.op, Region))
    group = group.apart if group.output_views else group
    if has_kernel and group.anchor is not None:
        best = best_of(group, target)
        found = (hindrance(group.anchor.op, best, target), detoured(group, best, target))
        yield from filter(None, found)


def slower(group: Group, target: Target) -> Iterator[str]:
    """Why a group's anchor is not as fast as its types promise."""
    found = "" if group.anchor is None else conversion(group.anchor.op, target)
    yield from [found] if found else []


def controlled(op: Region, target: Target) -> str:
    """How control flow runs, and why the host drives it where it does on a GPU."""
    reasons = "; ".join(dict.fromkeys(host_reasons(op, target)))
    text = "control flow, which runs other plans"
    return f"{text}, driven by the host: {reasons}" if reasons else text


class Apart:
    """Why the operators of different groups are apart."""

    def __init__(
        self, groups: Sequence[Group], target: Target, outputs: Collection[Tensor]
    ) -> None:
        self.roles = Roles(lambda op: has_schedule(op, target))
        self.kept = set(outputs)
        self.readers: dict[Tensor, list[tuple[Group, Node]]] = {}
        for group in groups:
            read = set(group.inputs)
            for node in group.nodes:
                for each in read.intersection(node.inputs):
                    self.readers.setdefault(each, []).append((group, node))

    def reasons(self, group: Group) -> Iterator[str]:
        """Why what reads the group's results is not in it; each reason once."""
        later = [(t, *reader) for t in group.results for reader in self.readers.get(t, [])]
        nodes = {node for _, _, node in later}
        found = [group.reason] if group.reason else []
        covered: set[Node] = set()
        for note in group.notes:
            if not note.readers or nodes.intersection(note.readers):  # else they joined after all
                found.append(note.text)
                covered.update(note.readers)
        for tensor, reader, node in later:
            if node not in covered and not group.is_free:
                why = self.unspoken(group, tensor, reader, node)
                found.append(f"{node.op.name} reads it from memory: {why}")
        yield from dict.fromkeys(found)

    def unspoken(self, group: Group, tensor: Tensor, reader: Group, node: Node) -> str:
        """Why nobody tried to bring a group and what reads its result together."""
        for one in (node, group.last):
            if self.roles.of(one.op) is Role.ALONE:
                return f"{one.op.name} is always computed by itself"
        if self.roles.of(group.last.op) is Role.UPDATE:
            return f"{group.last.op.name} writes it where it lies"
        if tensor in self.kept:
            return "the caller gets it too, so it is there"
        if len(group.results) > 1 and group.anchor is None:
            return "it is one of several results of its kernel"
        if weight(group.nodes) + weight(reader.nodes) > MOST:
            return f"a kernel computes {MOST} operators at most"
        return f"{node.op.name} goes along with what makes another operand"
