"""Which operators share a kernel: groups around one anchor.

A group is an anchor (an operator with a schedule of its own, or a reduction, or none), the
producers that its reads take in (prologue), and the consumers that its writes take in (epilogue).
Only the last operator's results leave a group, and what a reduction in it shares with others. What
several operators read is stored, unless all of them are in the group, or computing it again in each
of them costs less. A group never waits for another one that waits for it: on every way from one of
its operators to the last one lie only operators of the group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hidet import options
from hidet.compute.sizes import same_shape
from hidet.fusion.group import Group, Note, in_order, waits
from hidet.fusion.reasons import MOST, Reasons
from hidet.fusion.regions import Regions
from hidet.fusion.repeating import weight
from hidet.fusion.roles import Role, Roles
from hidet.fusion.widening import widened
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import Op
from hidet.graph.tensor import Node, Tensor
from hidet.optimize.separate_outputs import is_view

MEETS = "reductions of what it makes meet that again: with them it is one kernel"


def partition(graph: FlowGraph, scheduled: Callable[[Op], bool]) -> list[Group]:
    """The groups of a graph in an order in which they can run.

    `scheduled` says whether an operator has a schedule of its own on the target. Without the option
    `fusion` each operator is a group.
    """
    found = Partition(graph, scheduled)
    return found.run() if options.fusion.get() else [found.alone(each) for each in graph.nodes]


class Partition:
    """Grows groups in one walk over the graph."""

    def __init__(self, graph: FlowGraph, scheduled: Callable[[Op], bool]) -> None:
        self.graph = graph
        self.roles = Roles(scheduled)
        self.regions = Regions(graph)
        self.reasons = Reasons(self.roles, self.regions)
        self.users = self.regions.users
        self.kept = self.regions.kept
        self.order = self.regions.order
        self.group_of: dict[Node, Group] = {}
        self.reserved: dict[Node, Group] = {}

    def run(self) -> list[Group]:
        """All groups; those whose results every reader computes itself are left out."""
        for node in self.graph.nodes:
            group = self.reserved.get(node)
            if group is None:
                group = self.joined(node) or self.started(node)
            else:
                self.append(group, node)
            self.group_of[node] = group
            if node is group.last:
                self.reserve(group)
        for group in dict.fromkeys(self.group_of.values()):
            if group.anchor is None and len(group.results) == 1:
                self.keep_operand(group, group.inputs)
        groups = list(dict.fromkeys(self.group_of.values()))
        return self.needed(in_order(groups, self.before))

    def alone(self, node: Node) -> Group:
        """A group of one operator."""
        anchor = node if self.roles.of(node.op) is Role.ANCHOR else None
        return Group([node], anchor, order=self.order)

    def before(self, group: Group) -> list[Group]:
        """The groups whose results a group reads."""
        makers = [each.trace[0] for each in group.inputs if each.trace is not None]
        return list(dict.fromkeys(self.group_of[each] for each in makers if each in self.group_of))

    def needed(self, ordered: Sequence[Group]) -> list[Group]:
        """Those groups whose results another one reads, or the caller gets."""
        read = set(self.kept)
        found = []
        for group in reversed(ordered):
            if read & set(group.results):
                read |= set(group.inputs)
                found.append(group)
        return found[::-1]

    # ---- consumers ----------------------------------------------------------------------------

    def joined(self, node: Node) -> Group | None:
        """The group that takes `node` in as its epilogue, if one does.

        One with an anchor or a reduction comes first, then the latest: what is injective can go
        along with either, an anchor's result cannot.
        """
        if self.roles.of(node.op) is not Role.INJECTIVE:
            return None
        led = self.led_to_reductions(node)
        able = []
        for tensor in reversed(dict.fromkeys(node.inputs)):
            group = self.producer(tensor)
            if group is None:
                continue
            if led and not (self.roles.injective(group) or self.reasons.one_pass(group, led)):
                group.notes.append(Note(f"{node.op.name} is apart: {MEETS}", (node,)))
                continue
            if self.takes(group, tensor, node):
                able.append(group)
        if not able:
            return None
        group = next((each for each in able if not self.roles.injective(each)), able[0])
        self.append(group, node)
        return group

    def led_to_reductions(self, node: Node) -> list[Node]:
        """What lies behind `node` up to where reductions of what it gives meet it again, as a
        norm's statistics do: with them it makes one kernel, which has no place behind an anchor.
        Empty if none do."""
        if len(self.regions.readers(node)) < 2:
            return []
        inside = self.regions.behind(node, 2 * MOST) or []
        found = self.roles.reduce(inside) and self.roles.of_rows(inside)
        return [node, *inside] if found else []

    def append(self, group: Group, node: Node) -> None:
        """Let `node` into `group`, with the chains that nothing else needs ahead of it.

        A chain is computed once for every element of `node`: where that is more often than on its
        own, it has to be cheap.
        """
        for tensor in dict.fromkeys(node.inputs):
            chain = self.producer(tensor)
            if chain is None or chain is group or tensor in set(group.inputs):
                continue
            often = not same_shape(tensor.shape, node.outputs[0].shape)
            role = Role.ANCHOR if often else Role.INJECTIVE
            chain = self.widening(chain, role)
            if weight(group.nodes) + weight(chain.nodes) >= MOST:
                continue
            met = self.meets(chain, tensor, group, node)
            if met or self.is_prologue(chain, tensor, node, role):
                group.add(chain.nodes)
                self.move(chain, tensor, group)
        group.add([node])

    def meets(self, chain: Group, tensor: Tensor, group: Group, node: Node) -> bool:
        """Whether two reductions of the same rows meet in `node`: a mean and a variance."""
        if self.users[tensor] != [node] or node.device != chain.last.device:
            return False
        if group.anchor is not None or chain.anchor is not None or self.roles.injective(group):
            return False
        others = [each for each in chain.nodes if each not in group.nodes]
        return self.reasons.one_pass(group, [*others, node])

    def producer(self, tensor: Tensor) -> Group | None:
        """The group that writes `tensor` and can still grow at that end."""
        if tensor.trace is None or tensor.trace[0] not in self.group_of or tensor in self.kept:
            return None
        group = self.group_of[tensor.trace[0]]
        sealed = self.roles.of(group.last.op).takes_no_epilogue
        full = weight(group.nodes) >= MOST or len(group.results) != 1
        return None if sealed or full or group.last is not tensor.trace[0] else group

    def takes(self, group: Group, tensor: Tensor, node: Node) -> bool:
        """Whether `node` may follow in `group`, being the only reader of its result."""
        if self.users[tensor] != [node]:
            return False
        why = self.reasons.apart(group, tensor, node)
        if why:
            group.notes.append(Note(f"{node.op.name} is apart: {why}", (node,)))
        return not why

    # ---- several readers ----------------------------------------------------------------------

    def reserve(self, group: Group) -> None:
        """Where all that is made of a group's result meets again: let all of that join it."""
        results = group.results
        if len(results) != 1 or self.producer(results[0]) is not group:
            return
        readers = self.users.get(results[0], [])
        if len(readers) < 2:
            return
        inside = self.regions.behind(group.last, 2 * MOST)
        why = (
            "what they make does not all come together again"
            if inside is None
            else self.reasons.divides(group, inside, self.reserved)
        )
        if why or inside is None:
            names = ", ".join(dict.fromkeys(each.op.name for each in readers))
            text = f"{len(readers)} readers ({names}) are apart: {why}"
            group.notes.append(Note(text, tuple(readers)))
            return
        self.reserved.update(dict.fromkeys(inside, group))

    # ---- producers ----------------------------------------------------------------------------

    def started(self, node: Node) -> Group:
        """A new group around `node`, which takes in the chains that only it needs."""
        role, group = self.roles.of(node.op), self.alone(node)
        if role is Role.ALONE:
            return group
        # What an update changes lies in memory.
        operands = node.inputs[1:] if role is Role.UPDATE else node.inputs
        for tensor in dict.fromkeys(operands):
            chain = self.producer(tensor)
            if chain is None or weight(group.nodes) + weight(chain.nodes) > MOST:
                continue
            chain = self.widening(chain, role)
            again = role is Role.REDUCTION and self.reduces(chain, tensor, node)
            if again or self.is_prologue(chain, tensor, node, role):
                group.add(chain.nodes)
                self.move(chain, tensor, group)
        if role is Role.REDUCTION:
            self.keep_operand(group, node.inputs)
        return group

    def reduces(self, chain: Group, tensor: Tensor, node: Node) -> bool:
        """Whether `node` alone reads a reduction's result, and reduces the same rows once more."""
        if self.users[tensor] != [node] or node.device != chain.last.device:
            return False
        return not self.roles.injective(chain) and self.reasons.one_pass(chain, [node])

    def keep_operand(self, group: Group, operands: Sequence[Tensor]) -> None:
        """Let a reduction of what others read too compute and store that as well.

        A sum that a norm follows, and that the next sum reads, is one kernel with the norm. Such a
        group stays as it is, so that nobody it waits for can come to wait for it.
        """
        for tensor in dict.fromkeys(operands):
            maker = None if tensor.trace is None else tensor.trace[0]
            made = None if maker is None else self.group_of.get(maker)
            if made is None or made.last is not maker or len(made.results) != 1:
                continue
            if self.keepable(made, tensor, group):
                group.add(made.nodes)
                group.also = (tensor,)
                for each in made.nodes:
                    if self.group_of[each] is made:
                        self.group_of[each] = group
                return

    def keepable(self, made: Group, tensor: Tensor, group: Group) -> bool:
        """Whether the operators that give `tensor` can join its reader, and it be stored."""
        (result,) = group.results
        alike = same_shape(tensor.shape, result.shape) and group.last.device == made.last.device
        rows = self.roles.of_rows([*made.nodes, *group.nodes])
        if not alike or not rows or self.roles.injective(group):
            return False
        if weight([*made.nodes, *group.nodes]) > MOST:
            return False
        if any(self.reserved.get(each, group) is not group for each in self.users[tensor]):
            return False
        if all(is_view(each) for one in made.nodes for each in one.outputs):
            return False
        if waits(group, made, self.before):
            return False
        nodes = list(dict.fromkeys([*made.nodes, *group.nodes]))
        return self.reasons.same_rows(nodes, (tensor, result))

    def widening(self, chain: Group, role: Role) -> Group:
        """Of a group whose end makes wider elements of integers that end alone, if a reader of this
        role takes it in: then integers are stored. Products read each element many times."""
        if role is Role.ANCHOR or self.roles.injective(chain):
            return chain
        tail = widened(chain, self.users)
        return Group(tail, order=self.order) if tail else chain

    def move(self, chain: Group, tensor: Tensor, group: Group) -> None:
        """A chain that one operator reads belongs to that one's group; another one is repeated."""
        if len(self.users[tensor]) == 1:
            maker = self.group_of[chain.last]
            if maker is not chain:
                maker.nodes = [each for each in maker.nodes if each not in chain.nodes]
            for each in chain.nodes:
                if self.group_of[each] is maker:
                    self.group_of[each] = group

    def is_prologue(self, chain: Group, tensor: Tensor, node: Node, role: Role) -> bool:
        """Whether `node` computes what it reads of `chain` itself."""
        why = self.reasons.stored(chain, tensor, node, role)
        note = Note(f"{node.op.name} reads it from memory: {why}", (node,))
        if why and note not in chain.notes:
            chain.notes.append(note)
        return not why
