"""Kernels of elements that read one tensor become one kernel with several results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hidet.compute.sizes import same_shape
from hidet.fusion.group import Group, Note, in_order, waits
from hidet.fusion.reasons import DENSEST, MOST, Reasons
from hidet.fusion.regions import Regions, ways
from hidet.fusion.repeating import nbytes, weight
from hidet.fusion.roles import Roles
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import Op
from hidet.graph.tensor import Tensor

MOST_RESULTS = 4
"""To how many tensors such a kernel writes: each takes registers."""


def unite(
    groups: Sequence[Group], graph: FlowGraph, scheduled: Callable[[Op], bool]
) -> list[Group]:
    """The groups with those together that read the same and give results of one shape.

    before   a = relu(x);  b = tanh(x)
    after    a, b = relu(x), tanh(x): x is read once, by one kernel

    So are a value that several operators read and one of those operators. `scheduled` is as in
    `partition`.
    """
    return Siblings(groups, graph, scheduled).run()


class Siblings:
    """The groups of one graph as they grow, in an order in which they can run."""

    def __init__(
        self, groups: Sequence[Group], graph: FlowGraph, scheduled: Callable[[Op], bool]
    ) -> None:
        self.groups, self.kept = list(groups), set(graph.outputs)
        self.roles = Roles(scheduled)
        self.reasons = Reasons(self.roles, Regions(graph))
        self.maker = {each: group for group in groups for each in group.results}

    def run(self) -> list[Group]:
        """All groups, each behind those that it reads."""
        near: dict[Tensor, list[Group]] = {}
        for group in list(self.groups):
            if not self.able(group):
                continue
            others = [each for tensor in shared(group) for each in near.get(tensor, [])]
            joined = self.joined(group, list(dict.fromkeys(others)))
            for tensor in (*shared(group), *group.results):
                near.setdefault(tensor, []).append(joined)
        return in_order(self.groups, self.before)

    def joined(self, group: Group, others: Sequence[Group]) -> Group:
        """The first of `others` that the group can be a part of, with it; else the group."""
        notes = []
        for other in others:
            why = self.against(other, group)
            if not why:
                self.merge(other, group)
                return other
            notes.append(Note(f"{other.name} reads the same, and is apart: {why}"))
        group.notes += notes
        return group

    def able(self, group: Group) -> bool:
        """Whether the group only computes elements, each from a few others, into one tensor."""
        if group.anchor is not None or group.is_free or group.insets or not group.stored:
            return False
        known = all(node in self.reasons.order for node in group.nodes)
        return known and self.roles.injective(group) and len(group.results) == 1

    def against(self, first: Group, second: Group) -> str:
        """Why two groups, given in order, are not one; nothing if they can be."""
        results = (*first.results, *second.results)
        if first.last.device != second.last.device:
            return "it runs on another device"
        if not same_shape(first.results[0].shape, second.results[0].shape):
            return "its results have another shape"
        nodes = list(dict.fromkeys([*first.nodes, *second.nodes]))
        if len(results) > MOST_RESULTS or weight(nodes) > MOST:
            return "one kernel would do too much"
        if self.repeats(first, second) > DENSEST:
            return "the value would be written out too often"
        if waits(second, first, self.before):
            return "another kernel has to run between the two"
        return "" if self.reasons.stages(nodes, results) == 1 else "it takes several kernels"

    def repeats(self, first: Group, second: Group) -> int:
        """How often a value may appear in one of the results, written out."""
        read = [each for each in first.results if each in set(second.inputs)]
        again = sum(first.repeats * ways(each, second.nodes) for each in read)
        return max(first.repeats, second.repeats + again)

    def before(self, group: Group) -> list[Group]:
        """The groups whose results a group reads."""
        found = (self.maker[each] for each in group.inputs if each in self.maker)
        return list(dict.fromkeys(found))

    def merge(self, first: Group, second: Group) -> None:
        """Let the first group do what the second one does."""
        self.groups.remove(second)
        results = (*first.results, *second.results)
        first.repeats = self.repeats(first, second)
        first.add(second.nodes)
        read = {each for group in self.groups if group is not first for each in group.inputs}
        own = set(first.last.outputs)
        first.also = tuple(each for each in results if each in read | self.kept and each not in own)
        first.notes += [note for note in second.notes if note not in first.notes]
        self.maker.update(dict.fromkeys(results, first))


def shared(group: Group) -> list[Tensor]:
    """What a group reads that is no smaller than what it gives: reading it once saves much."""
    least = nbytes(group.results[0]) // group.results[0].dtype.nbytes
    return [each for each in group.inputs if nbytes(each) // each.dtype.nbytes >= least]
