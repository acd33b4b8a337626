"""Kernels of elements become a part of what reads the same, or makes what they read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hidet.compute.sizes import same_shape
from hidet.fusion.compose import leading_to
from hidet.fusion.epilogue_definition import EpilogueDefinition
from hidet.fusion.group import Group, Note, in_order, waits
from hidet.fusion.reasons import ELSEWHERE, MOST, Reasons
from hidet.fusion.regions import Regions
from hidet.fusion.repeating import nbytes, weight
from hidet.fusion.roles import Roles
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import Op
from hidet.graph.tensor import Node, Tensor
from hidet.ops.indexing.in_place import updated_tensor

MOST_RESULTS = 4
"""To how many tensors such a kernel writes: each takes registers."""

WHOLE = "its schedule reads whole tiles, or is much faster if it does"


def unite(
    groups: Sequence[Group],
    graph: FlowGraph,
    scheduled: Callable[[Op], bool],
    in_memory: Callable[[Group, Tensor], bool],
) -> list[Group]:
    """The groups with those together that read the same and give results of one shape, and with
    elements made where what they are made of is.

    before   a = relu(x);  b = tanh(x)
    after    a, b = relu(x), tanh(x): x is read once, by one kernel

    before   y = matmul(x, w) + x;  z = relu(y);  u = matmul(z, v) + y
    after    y, z = matmul(x, w) + x, relu(y);  u = matmul(z, v) + y: none reads y for z alone

    So are a value that several operators read and one of those operators. `scheduled` is as in
    `partition`; `in_memory` says whether a group's anchor had better find a tensor in memory which
    the group would compute, if it takes no kernel more.
    """
    return HorizontalFusion(groups, graph, scheduled, in_memory).run()


class HorizontalFusion:
    """The groups of one graph as they grow, in an order in which they can run."""

    def __init__(
        self,
        groups: Sequence[Group],
        graph: FlowGraph,
        scheduled: Callable[[Op], bool],
        in_memory: Callable[[Group, Tensor], bool],
    ) -> None:
        self.groups, self.kept = dict.fromkeys(groups), set(graph.outputs)
        self.in_memory = in_memory
        self.roles = Roles(scheduled)
        self.reasons = Reasons(self.roles, Regions(graph))
        self.maker = {each: group for group in groups for each in group.results}
        self.near: dict[Tensor, list[Group]] = {}
        """Whom to ask about a tensor: who makes it, and groups of elements that read it."""
        self.readers: dict[Tensor, list[Group]] = {}
        """The groups that read a tensor, or did so before they were merged."""
        self.promised: set[Tensor] = set()
        """What anchors read from memory though their groups could compute it: it is written."""
        for group in groups:
            self.note_reads(group)

    def run(self) -> list[Group]:
        """All groups, each behind those that it reads."""
        for group in list(self.groups):
            if group.anchor is not None:
                self.hand_over(group)
                self.remember(group, group.results)
            elif self.able(group):
                joined = self.joined(group)
                read = shared(group) if joined.anchor is None else []
                self.remember(joined, (*read, *group.results))
        return in_order(list(self.groups), self.before)

    def note_reads(self, group: Group) -> None:
        """Let it be known that a group reads its inputs."""
        for each in group.inputs:
            self.readers.setdefault(each, []).append(group)

    def remember(self, group: Group, tensors: Sequence[Tensor]) -> None:
        """Let others ask a group about tensors."""
        for each in tensors:
            self.near.setdefault(each, []).append(group)

    def joined(self, group: Group) -> Group:
        """The first group that this one can be a part of, with it; else the group.

        Two that are one now may be a part of another one, as neither was: it then gives nothing but
        what they make of its anchor's result.
        """
        host = self.host(group)
        if host is None:
            return group
        self.merge(host, group)
        return host if host.anchor is not None else self.joined(host)

    def host(self, group: Group) -> Group | None:
        """The first group that this one can be a part of, those with an anchor first; why others
        are none is noted."""
        notes = []
        for other in self.asked(group):
            why = self.against(other, group)
            if not why:
                return other
            if other.anchor is None:
                notes.append(Note(f"{other.name} reads the same, and is apart: {why}"))
            else:
                other.notes += [
                    Note(f"{n.op.name} is apart: {why}", (n,)) for n in reads(group, other)
                ]
        group.notes += notes
        return None

    def asked(self, group: Group) -> list[Group]:
        """Whom this group could become a part of, those with an anchor first."""
        found = (each for tensor in shared(group) for each in self.near.get(tensor, []))
        others = (each for each in found if each is not group and each in self.groups)
        return sorted(dict.fromkeys(others), key=lambda each: each.anchor is None)

    def hand_over(self, group: Group) -> None:
        """Let the makers of what a group reads compute the operands of its anchor that it would
        compute, where that is worth it."""
        assert group.anchor is not None
        for tensor in dict.fromkeys(group.anchor.inputs):
            chain = leading_to([tensor], group.nodes)
            part = Group(chain, order=group.order)
            if not chain or not self.able(part):
                continue
            self.promised.add(tensor)
            # First who could: what is worth it takes both anchors' cost models.
            host = next((each for each in self.asked(part) if not self.against(each, part)), None)
            if host is None or not self.in_memory(group, tensor):
                self.promised.discard(tensor)
                continue
            rest = [each for each in group.nodes if each is not part.last]
            group.nodes = leading_to(group.results, rest)
            self.merge(host, part)
            why = f"{group.anchor.op.name} reads it from memory: {WHOLE}"
            host.notes.append(Note(why, (group.anchor,)))

    def able(self, group: Group) -> bool:
        """Whether the group only computes elements, each from a few others, into one tensor."""
        if group.anchor is not None or group.is_free or group.output_views or not group.stored:
            return False
        known = all(node in self.reasons.order for node in group.nodes)
        alike = self.roles.injective(group) or self.roles.updates(group)
        return known and alike and len(group.results) == 1

    def against(self, first: Group, second: Group) -> str:
        """Why two groups, given in order, are not one; nothing if they can be."""
        results = self.together(first, second)
        nodes = list(dict.fromkeys([*first.nodes, *second.nodes]))
        if first.last.device != second.last.device:
            return "it runs on another device"
        if len(results) > MOST_RESULTS or weight(nodes) > MOST:
            return "one kernel would do too much"
        # Two that are one now stand where the first of them was: the other may be before it.
        if waits(second, first, self.before) or waits(first, second, self.before):
            return "another kernel has to run between the two"
        if first.anchor is not None:
            return self.astray(first, second)
        if not same_shape(first.results[0].shape, second.results[0].shape):
            return "its results have another shape"
        return "" if self.reasons.stages(nodes, results) == 1 else "it takes several kernels"

    def astray(self, first: Group, second: Group) -> str:
        """Why elements cannot be written beside those of an anchor; nothing if they can be."""
        assert first.anchor is not None
        if len(first.anchor.outputs) > 1:
            return "the schedule itself gives several results"
        if first.output_views or not first.stored:
            return "what it reads is written within another tensor"
        if any(updated_tensor(each) is not None for each in second.results):
            return "it is written over what others read"
        whole = Group(first.nodes, first.anchor, order=first.order)
        whole.add(second.nodes)
        own = set(whole.last.outputs)
        whole.also = tuple(each for each in self.together(first, second) if each not in own)
        where = EpilogueDefinition(whole).landings()
        if where is None:
            return ELSEWHERE
        shape = first.anchor.outputs[0].shape
        if not all(where[each].keeps_rows(shape) for each in second.results):
            return "what lies side by side would be written far apart"
        return ""

    def together(self, first: Group, second: Group) -> list[Tensor]:
        """What two groups write when they are one: what others read, and what comes last."""
        order = self.reasons.order
        last = max((first.last, second.last), key=lambda each: order.get(each, -1))
        results = dict.fromkeys([*first.results, *second.results])
        own = set(last.outputs)
        return [each for each in results if each in own or self.wanted(each, first, second)]

    def wanted(self, tensor: Tensor, *besides: Group) -> bool:
        """Whether the caller or a group besides these reads a tensor, or was promised it."""
        others = (each for each in self.readers.get(tensor, ()) if each not in besides)
        reading = (set(each.inputs) for each in others if each in self.groups)
        held = tensor in self.kept or tensor in self.promised
        return held or any(tensor in each for each in reading)

    def before(self, group: Group) -> list[Group]:
        """The groups whose results a group reads."""
        found = (self.maker[each] for each in group.inputs if each in self.maker)
        return list(dict.fromkeys(found))

    def merge(self, first: Group, second: Group) -> None:
        """Let the first group do what the second one does."""
        self.groups.pop(second, None)
        results = self.together(first, second)
        first.add(second.nodes)
        own = set(first.last.outputs)
        first.also = tuple(each for each in results if each not in own)
        notes = [note for note in first.notes if not set(second.nodes) & set(note.readers)]
        first.notes = list(dict.fromkeys([*notes, *second.notes]))
        self.maker.update(dict.fromkeys(results, first))
        self.note_reads(first)


def shared(group: Group) -> list[Tensor]:
    """What a group reads that is no smaller than what it gives: reading it once saves much.

    Of an update it is all but what that changes: two of them are alike by where they write.
    """
    if updated_tensor(group.results[0]) is not None:
        return [each for each in group.inputs if each is not group.last.inputs[0]]
    least = nbytes(group.results[0]) // group.results[0].dtype.nbytes
    return [each for each in group.inputs if nbytes(each) // each.dtype.nbytes >= least]


def reads(group: Group, other: Group) -> list[Node]:
    """The operators of a group that read what another one makes."""
    made = set(other.results)
    return [each for each in group.nodes if made.intersection(each.inputs)]
