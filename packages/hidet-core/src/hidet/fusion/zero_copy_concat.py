"""Concatenations without a kernel: what makes the operands writes each where the result lies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hidet.fusion import output_views
from hidet.fusion.compose import leading_to
from hidet.fusion.group import Group, Note
from hidet.fusion.output_views import Operand, concat_in, operands, written_apart
from hidet.fusion.repeating import LAUNCH_BYTES, nbytes
from hidet.fusion.roles import Roles
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import Op
from hidet.graph.tensor import Node, Tensor

MOST_PLACES = 4
"""To how many places a kernel writes its result: each takes registers and instructions."""


def join(
    groups: Sequence[Group],
    graph: FlowGraph,
    scheduled: Callable[[Op], bool],
    gain: Callable[[Group, Tensor], Gain | None],
) -> list[Group]:
    """The groups of a graph with concatenations taken apart, where that saves more than it costs.

    before   a = relu(linear(x, v));  b = linear(x, w);  c = concat(a, b)
    after    the first two write a and b into c; of the third there is nothing left to do

    A slice of what another group makes is written there by that one, beside the whole. An operand
    that is given, or that the concatenation's own kernel computes, gets a kernel that does that.
    `scheduled` is as in `partition`; `gain` says what it is worth to a group that its anchor finds
    a tensor in memory which the group would compute; None: nothing.
    """
    return ZeroCopyConcats(groups, graph, Roles(scheduled), gain).run()


@dataclass(frozen=True)
class Gain:
    """What is gained by taking a concatenation apart: kernels, and how often each element is moved
    less; once less yet if nobody else reads the operand from memory of its own."""

    kernels: int
    ways: int


KERNEL, STORED, FASTER = Gain(1, 1), Gain(0, 0), Gain(0, 1)
"""Where it is a kernel; where its reader stores it; where its reader has a much faster schedule
for what lies in memory."""


class ZeroCopyConcats:
    """The concatenations of one graph, the later ones first: they may have earlier ones inside."""

    def __init__(
        self,
        groups: Sequence[Group],
        graph: FlowGraph,
        roles: Roles,
        gain: Callable[[Group, Tensor], Gain | None],
    ) -> None:
        self.groups, self.roles, self.kept = groups, roles, set(graph.outputs)
        self.gain = gain
        self.joined: set[Node] = set()
        self.makers = {group.results[0]: group for group in groups if len(group.results) == 1}
        self.readers: dict[Tensor, list[Group]] = {}
        for group in groups:
            self.reads(group)

    def reads(self, group: Group) -> None:
        """Note whose results a group reads."""
        for each in group.inputs:
            self.readers.setdefault(each, []).append(group)

    def forget(self, group: Group) -> None:
        """Note that a group no longer reads what it reads now."""
        for each in group.inputs:
            self.readers[each].remove(group)

    def run(self) -> list[Group]:
        """All groups, and ahead of each those that were taken out of it."""
        ahead = {group: self.taken_out(group) for group in reversed(self.groups)}
        return [each for group in self.groups for each in (*ahead[group], group)]

    def taken_out(self, group: Group) -> list[Group]:
        """Let others write the operands of the concatenations that a group ends in, stores, or
        reads through its anchor; gives what is to run ahead of the group."""
        read = group.also if group.anchor is None else group.anchor.inputs
        if group.anchor is None and not group.also:
            ends = concat_in(group, group.last.outputs[0]) is not None
            return self.taken_apart(group, KERNEL) if ends else []
        found = [each for each in dict.fromkeys(read) if concat_in(group, each) is not None]
        return [made for each in found for made in self.taken_from_reader(group, each)]

    def taken_from_reader(self, group: Group, tensor: Tensor) -> list[Group]:
        """The same for a concatenation that is in the group of who reads it, which stays."""
        nodes, also = group.nodes, group.also
        first = Group(leading_to([tensor], nodes), order=group.order)
        gain = STORED if also else self.gain(group, tensor)
        if gain is None or first.last in self.joined:
            return []
        rest = leading_to(group.last.outputs, [each for each in nodes if each is not first.last])
        self.forget(group)
        group.nodes, group.also = rest, ()
        self.reads(first)
        self.reads(group)
        made = self.taken_apart(first, gain)
        if first.is_concat:
            return [*made, first]
        self.forget(first)
        self.forget(group)
        group.nodes, group.also = nodes, also
        group.notes += first.notes
        self.reads(group)
        return []

    def taken_apart(self, group: Group, gain: Gain) -> list[Group]:
        """Let others write a concatenation's operands; gives groups that write the rest."""
        why = self.obstacles(group)
        found = [each for each in why if not why[each]]
        made = [written_apart(group, each, why[each]) for each in why if why[each]]
        self.forget(group)
        for one in made:
            self.reads(one)
        against = self.against(group, found, made, gain)
        if against:
            reasons = dict.fromkeys(each for each in why.values() if each)
            text = f"concat is not taken apart: {'; '.join([against, *reasons])}"
            group.notes.append(Note(text))
            for one in made:
                self.forget(one)
            self.reads(group)
            return []
        for each in found:
            self.write(group, each)
        self.joined.add(group.last)
        group.nodes, group.is_concat, group.output_views, group.stored = (
            [group.last],
            True,
            (),
            True,
        )
        return made

    def write(self, group: Group, operand: Operand) -> None:
        """Let the group that makes an operand write it where the result lies."""
        tensor, starts = output_views.source(group, operand.tensor)
        maker = self.makers[tensor]
        output_views.write(maker, operand, starts)
        maker.stored = self.is_read(tensor)

    def is_read(self, tensor: Tensor) -> bool:
        """Whether somebody reads a tensor from memory of its own."""
        return bool(self.readers[tensor]) or tensor in self.kept

    def against(
        self, group: Group, found: Sequence[Operand], made: Sequence[Group], gain: Gain
    ) -> str:
        """Why a concatenation had better stay as it is; nothing if it need not.

        Others can write the operands `found`; `made` are the kernels for the rest.
        """
        if output_views.is_window(group):
            return "a part of it lies within another one"
        if not found:
            return "nobody else can write its operands"
        saved = 0
        for each in found:
            tensor, _ = output_views.source(group, each.tensor)
            saved += (gain.ways + (not self.is_read(tensor))) * nbytes(each.tensor)
        if saved >= (len(made) - gain.kernels) * LAUNCH_BYTES:
            return ""
        return f"{len(made)} kernels would take its place" if made else "others read the operands"

    def obstacles(self, group: Group) -> dict[Operand, str]:
        """Why nobody else can write an operand where the result lies, or nothing, for each that
        is not empty."""
        found: dict[Operand, str] = {}
        places: Counter[Tensor] = Counter()
        for operand in operands(group):
            if not nbytes(operand.tensor):
                continue
            tensor, _ = output_views.source(group, operand.tensor)
            places[tensor] += len(operand.places)
            found[operand] = self.obstacle(group, tensor, places[tensor])
        return found

    def obstacle(self, group: Group, tensor: Tensor, places: int) -> str:
        """Why what makes a tensor cannot write it to so many places more; else nothing."""
        maker = self.makers.get(tensor)
        if tensor not in set(group.inputs):
            return "its own kernel computes it"
        if maker is None:
            return "it is given"
        if maker.is_shape:
            return "it lies in memory already, in another shape"
        if maker.last.device != group.last.device:
            return "it is made on another device"
        if self.roles.of(maker.last.op).takes_no_epilogue:
            return f"{maker.last.op.name} writes whole tensors"
        if len(maker.output_views) + places > MOST_PLACES:
            return "it is written to many places already"
        return ""
