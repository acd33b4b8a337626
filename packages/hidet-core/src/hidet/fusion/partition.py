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
from enum import StrEnum

from hidet import options
from hidet.compute import Definition, Grid, Input, Kind
from hidet.compute.sizes import same_shape
from hidet.fusion.compose import compose, operands
from hidet.fusion.following import Following
from hidet.fusion.group import Group
from hidet.fusion.moves import landing
from hidet.fusion.regions import Regions, ways
from hidet.fusion.repeating import repeatable, weight
from hidet.fusion.traits import cheap, kind_of, lands, moves_only, read_by_all
from hidet.graph.flow import FlowGraph
from hidet.graph.foreign import Foreign
from hidet.graph.operator import Op
from hidet.graph.tensor import Node, Tensor
from hidet.optimize.separate_outputs import is_view
from hidet.schedules.automatic.plan import plan

MOST = 24
"""Operators that compute in one group: beyond that a kernel's text and registers grow faster than
the gain. Those that only move elements are not counted."""

DENSEST = 512
"""How often one value may appear in another one, written out: ways multiply along a chain."""


class Role(StrEnum):
    """What part an operator can play in a group."""

    ANCHOR = "anchor"
    REDUCTION = "reduction"
    INJECTIVE = "injective"
    ALONE = "alone"


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
        self.scheduled = scheduled
        self.regions = Regions(graph)
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
        return self.needed(self.in_order())

    def alone(self, node: Node) -> Group:
        """A group of one operator."""
        anchor = node if self.role(node.op) is Role.ANCHOR else None
        return Group([node], anchor, order=self.order)

    def in_order(self) -> list[Group]:
        """The groups, each behind those that it reads."""
        done: dict[Group, None] = {}
        pending = [(group, False) for group in reversed(dict.fromkeys(self.group_of.values()))]
        while pending:
            group, ready = pending.pop()
            if ready:
                done[group] = None
            elif group not in done:
                pending.append((group, True))
                pending += [(each, False) for each in self.before(group) if each not in done]
        return list(done)

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

    def role(self, op: Op) -> Role:
        """What part an operator can play."""
        if isinstance(op, Foreign):
            return Role.ALONE
        if self.scheduled(op):
            return Role.ANCHOR
        kind = kind_of(op)
        if kind is Kind.OPAQUE or len(op.results()) != 1:
            return Role.ALONE
        return Role.REDUCTION if kind is Kind.REDUCTION else Role.INJECTIVE

    # ---- consumers ----------------------------------------------------------------------------

    def joined(self, node: Node) -> Group | None:
        """The group that takes `node` in as its epilogue, if one does.

        One with an anchor or a reduction comes first, then the latest: what is injective can go
        along with either, an anchor's result cannot.
        """
        if self.role(node.op) is not Role.INJECTIVE:
            return None
        leads = self.leads_to_reductions(node)
        able = []
        for tensor in reversed(dict.fromkeys(node.inputs)):
            group = self.producer(tensor)
            if group is None or (leads and not self.injective(group)):
                continue
            if self.takes(group, tensor, node):
                able.append(group)
        if not able:
            return None
        group = next((each for each in able if not self.injective(each)), able[0])
        group.repeats *= ways(group.results[0], [node])
        self.append(group, node)
        return group

    def leads_to_reductions(self, node: Node) -> bool:
        """Whether reductions of what `node` gives meet it again, as a norm's statistics do: with
        them it makes one kernel, which has no place behind an anchor."""
        if len(self.regions.readers(node)) < 2:
            return False
        inside = self.regions.behind(node, 2 * MOST) or []
        roles = {self.role(each.op) for each in inside}
        return Role.REDUCTION in roles and not roles & {Role.ANCHOR, Role.ALONE}

    def append(self, group: Group, node: Node) -> None:
        """Let `node` into `group`, with the chains that nothing else needs ahead of it.

        A chain is computed once for every element of `node`: where that is more often than on its
        own, it has to be cheap.
        """
        for tensor in dict.fromkeys(node.inputs):
            chain = self.producer(tensor)
            if chain is None or chain is group or tensor in set(group.inputs):
                continue
            if weight(group.nodes) + weight(chain.nodes) >= MOST:
                continue
            often = not same_shape(tensor.shape, node.outputs[0].shape)
            role = Role.ANCHOR if often else Role.INJECTIVE
            if self.is_prologue(chain, tensor, node, role):
                group.repeats += chain.repeats * ways(tensor, [node])
                group.add(chain.nodes)
                self.move(chain, tensor, group)
        group.add([node])

    def injective(self, group: Group) -> bool:
        """Whether the group only computes elements, each from a few others."""
        return all(self.role(each.op) is Role.INJECTIVE for each in group.nodes)

    def producer(self, tensor: Tensor) -> Group | None:
        """The group that writes `tensor` and can still grow at that end."""
        if tensor.trace is None or tensor.trace[0] not in self.group_of or tensor in self.kept:
            return None
        group = self.group_of[tensor.trace[0]]
        alone = self.role(group.last.op) is Role.ALONE
        full = weight(group.nodes) >= MOST or len(group.results) != 1
        return None if alone or full or group.last is not tensor.trace[0] else group

    def takes(self, group: Group, tensor: Tensor, node: Node) -> bool:
        """Whether `node` may follow in `group`, being the only reader of its result."""
        if self.users[tensor] != [node]:
            return False
        why = self.apart(group, tensor, node)
        if why:
            group.notes.append(f"{node.op.name} is apart: {why}")
        return not why

    def apart(self, group: Group, tensor: Tensor, node: Node) -> str:
        """Why `node`, the only reader of the group's result, may not follow in it; else nothing."""
        if node.device != group.last.device:
            return "it runs on another device"
        if group.repeats * ways(tensor, [node]) > DENSEST:
            return "the value would be written out too often"
        if self.injective(group):
            return ""  # no anchor: the definitions are composed
        places = [place for place, each in enumerate(node.inputs) if each is tensor]
        once = len(places) == 1
        straight = lands(node.op, places[0]) if once else self.all_land(group, [node])
        return "" if straight else "it reads elements where they are not written"

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
        why = "its readers do not meet again" if inside is None else self.divides(group, inside)
        if why or inside is None:
            names = ", ".join(dict.fromkeys(each.op.name for each in readers))
            group.notes.append(f"{len(readers)} readers ({names}) are apart: {why}")
            return
        group.repeats *= ways(results[0], inside)
        self.reserved.update(dict.fromkeys(inside, group))

    def divides(self, group: Group, inside: list[Node]) -> str:
        """Why the operators between a result and where its ways meet may not join; else nothing."""
        roles = {self.role(each.op) for each in inside}
        if any(each.device != group.last.device for each in inside):
            return "some run on another device"
        if roles & {Role.ALONE, Role.ANCHOR}:
            return "an operator with a schedule of its own lies between"
        if any(each in self.reserved for each in inside):
            return "they belong to another group"
        if weight(group.nodes) + weight(inside) > MOST:
            return "there are too many operators between"
        if group.repeats * ways(group.results[0], inside) > DENSEST:
            return "the value would be written out too often"
        reducing = not self.injective(group)
        if Role.REDUCTION not in roles and not reducing:
            return ""
        if Role.REDUCTION in roles:
            if group.anchor is not None:
                return "a reduction lies between"
            return "" if self.stages([*group.nodes, *inside]) == 1 else "it takes several kernels"
        return (
            "" if self.all_land(group, inside) else "it reads elements where they are not written"
        )

    def stages(self, nodes: list[Node], results: Sequence[Tensor] = ()) -> int:
        """How many kernels the automatic schedule makes of operators together.

        `results` are what they give, by default what the last one does.
        """
        made = {each for node in nodes for each in node.outputs}
        read = dict.fromkeys(each for node in nodes for each in node.inputs if each not in made)
        inputs = operands(list(read))
        known: dict[Tensor, Grid] = dict(inputs)
        nodes = sorted(nodes, key=self.order.__getitem__)
        grids = compose(nodes, known)
        asked = [grids[each] for each in results or nodes[-1].outputs]
        return len(plan(list(inputs.values()), asked).stages)

    def all_land(self, group: Group, inside: list[Node]) -> bool:
        """Whether each element of the group's result goes to one known place of the last one's.

        Of an anchor's result two neighbours may go to one place, as one thread may hold both.
        """
        if group.anchor is not None:
            whole = Group([*group.nodes, *inside], group.anchor)
            return Following(whole).landing is not None
        (tensor,) = group.results
        value = Input("value", tensor.type)
        made = {tensor, *(each for node in inside for each in node.outputs)}
        read = [each for node in inside for each in node.inputs if each not in made]
        inputs = operands(list(dict.fromkeys(read)))
        grids = compose(inside, {**inputs, tensor: value})
        definition = Definition((value, *inputs.values()), (grids[inside[-1].outputs[0]],))
        found = landing(definition, value)
        return found is not None and not found.pairs

    # ---- producers ----------------------------------------------------------------------------

    def started(self, node: Node) -> Group:
        """A new group around `node`, which takes in the chains that only it needs."""
        role, group = self.role(node.op), self.alone(node)
        if role is Role.ALONE:
            return group
        for tensor in dict.fromkeys(node.inputs):
            chain = self.producer(tensor)
            if chain is None or weight(group.nodes) + weight(chain.nodes) > MOST:
                continue
            if self.is_prologue(chain, tensor, node, role):
                group.repeats += chain.repeats * ways(tensor, [node])
                group.add(chain.nodes)
                self.move(chain, tensor, group)
        if role is Role.REDUCTION:
            self.keep_operand(group, node)
        return group

    def keep_operand(self, group: Group, node: Node) -> None:
        """Let a reduction of what others read too compute and store that as well.

        A sum that a norm follows, and that the next sum reads, is one kernel with the norm. Such a
        group stays as it is, so that nobody it waits for can come to wait for it.
        """
        for tensor in dict.fromkeys(node.inputs):
            maker = None if tensor.trace is None else tensor.trace[0]
            made = None if maker is None else self.group_of.get(maker)
            if made is None or made.last is not maker or len(made.results) != 1:
                continue
            if self.keepable(made, tensor, group, node):
                group.add(made.nodes)
                group.also = (tensor,)
                for each in made.nodes:
                    if self.group_of[each] is made:
                        self.group_of[each] = group
                return

    def keepable(self, made: Group, tensor: Tensor, group: Group, node: Node) -> bool:
        """Whether the operators that give `tensor` can join its reader, and it be stored."""
        alike = same_shape(tensor.shape, node.outputs[0].shape) and node.device == made.last.device
        if not alike or not self.injective(made) or weight([*made.nodes, *group.nodes]) > MOST:
            return False
        if any(each in self.reserved for each in self.users[tensor]):
            return False
        if all(is_view(each) for one in made.nodes for each in one.outputs):
            return False
        if self.waits(group, made):
            return False
        nodes = list(dict.fromkeys([*made.nodes, *group.nodes]))
        return self.stages(nodes, (tensor, *node.outputs)) == 1

    def waits(self, group: Group, other: Group) -> bool:
        """Whether `group` needs something, besides its results, for which `other` is needed."""
        seen: set[Group] = {other}
        pending = [each for each in self.before(group) if each is not other]
        while pending:
            current = pending.pop()
            if current in seen:
                continue
            seen.add(current)
            found = self.before(current)
            if other in found:
                return True
            pending += found
        return False

    def move(self, chain: Group, tensor: Tensor, group: Group) -> None:
        """A chain that one operator reads belongs to that one's group; another one is repeated."""
        if len(self.users[tensor]) == 1:
            for each in chain.nodes:
                if self.group_of[each] is chain:
                    self.group_of[each] = group

    def is_prologue(self, chain: Group, tensor: Tensor, node: Node, role: Role) -> bool:
        """Whether `node` computes what it reads of `chain` itself."""
        why = self.stored(chain, tensor, node, role)
        note = f"{node.op.name} reads it from memory: {why}"
        if why and note not in chain.notes:
            chain.notes.append(note)
        return not why

    def stored(self, chain: Group, tensor: Tensor, node: Node, role: Role) -> str:
        """Why the result of `chain` is stored for `node` to read; else nothing."""
        if node.device != chain.last.device:
            return "it runs on another device"
        if not self.injective(chain):
            return "what makes it is no map of elements"
        if all(is_view(each) for made in chain.nodes for each in made.outputs):
            return "a new shape of what lies in memory costs nothing there"
        if chain.repeats * ways(tensor, [node]) > DENSEST:
            return "the value would be written out too often"
        readers = len(self.users[tensor])
        straight = role is Role.INJECTIVE and same_shape(tensor.shape, node.outputs[0].shape)
        if readers > 1 and not repeatable(chain, readers, straight):
            return f"{readers} operators read it"
        if role is Role.ANCHOR and not all(cheap(each.op) for each in chain.nodes):
            return "its functions would be computed for every tile"
        if role is Role.ANCHOR and not all(moves_only(each.op) for each in chain.nodes):
            places = [place for place, each in enumerate(node.inputs) if each is tensor]
            if any(read_by_all(node.op, place) for place in places):
                return "it would be computed in every block"
        return ""


__all__ = ["Group", "Partition", "Role", "partition"]
