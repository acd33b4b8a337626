"""Which operators share a kernel: groups around one anchor.

A group is an anchor (an operator with a schedule of its own, or a reduction, or none), the
producers that its reads take in (prologue), and the consumers that its writes take in (epilogue).
Every operator of a group but the last is read by the next one only, so that groups never wait for
each other in a circle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from hidet.compute import Kind, classify
from hidet.compute.classify import inputs as read_inputs
from hidet.compute.sizes import same_shape
from hidet.fusion.moves import landing
from hidet.graph.flow import FlowGraph
from hidet.graph.foreign import Foreign
from hidet.graph.operator import Op
from hidet.graph.tensor import Node, Tensor
from hidet.ir.expr import Math
from hidet.ir.walk import contains

MOST = 24
"""Operators in one group: beyond that a kernel's text and registers grow faster than the gain."""


class Role(StrEnum):
    """What part an operator can play in a group."""

    ANCHOR = "anchor"
    REDUCTION = "reduction"
    INJECTIVE = "injective"
    ALONE = "alone"


@dataclass(eq=False)
class Group:
    """Operators that become one scheduled kernel, in an order in which they can run."""

    nodes: list[Node]
    anchor: Node | None = None
    reason: str = ""
    outputs: tuple[Tensor, ...] = field(default=())

    @property
    def name(self) -> str:
        """The operators' names, joined."""
        return "_".join(node.op.name for node in self.nodes[:6])

    @property
    def last(self) -> Node:
        """The operator whose results leave the group."""
        return self.nodes[-1]

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """What the group reads, in order of first use."""
        made = {each for node in self.nodes for each in node.outputs}
        read = [each for node in self.nodes for each in node.inputs]
        return tuple(dict.fromkeys(each for each in read if each not in made))

    @property
    def results(self) -> tuple[Tensor, ...]:
        """What the group writes."""
        return self.last.outputs


def partition(graph: FlowGraph, scheduled: Callable[[Op], bool]) -> list[Group]:
    """The groups of a graph in an order in which they can run.

    `scheduled` says whether an operator has a schedule of its own on the target.
    """
    return Partition(graph, scheduled).run()


class Partition:
    """Grows groups in one walk over the graph."""

    def __init__(self, graph: FlowGraph, scheduled: Callable[[Op], bool]) -> None:
        self.graph = graph
        self.scheduled = scheduled
        self.users = graph.users()
        self.kept = set(graph.outputs)
        self.group_of: dict[Node, Group] = {}

    def run(self) -> list[Group]:
        """All groups."""
        for node in self.graph.nodes:
            group = self.joined(node) or self.started(node)
            self.group_of[node] = group
        groups = dict.fromkeys(self.group_of.values())
        place = {node: index for index, node in enumerate(self.graph.nodes)}
        return sorted(groups, key=lambda group: place[group.last])

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

    def joined(self, node: Node) -> Group | None:
        """The group that takes `node` in as its epilogue, if one does.

        One with an anchor or a reduction comes first, then the latest: what is injective can go
        along with either, an anchor's result cannot.
        """
        if self.role(node.op) is not Role.INJECTIVE:
            return None
        able = []
        for tensor in reversed(dict.fromkeys(node.inputs)):
            group = self.producer(tensor)
            if group is not None and self.takes(group, tensor, node):
                able.append(group)
        if not able:
            return None
        group = next((each for each in able if not self.injective(each)), able[0])
        self.gather(group, node)
        group.nodes.append(node)
        return group

    def injective(self, group: Group) -> bool:
        """Whether the group only computes elements, each from a few others."""
        return all(self.role(each.op) is Role.INJECTIVE for each in group.nodes)

    def gather(self, group: Group, node: Node) -> None:
        """Let the chains that only `node` reads join `group` ahead of it.

        Each is computed once for every element of `node`: where that is more often than on its own,
        it has to be cheap.
        """
        for tensor in dict.fromkeys(node.inputs):
            chain = self.producer(tensor)
            if chain is None or chain is group or len(group.nodes) + len(chain.nodes) >= MOST:
                continue
            often = not same_shape(tensor.shape, node.outputs[0].shape)
            if self.is_prologue(chain, tensor, node, Role.ANCHOR if often else Role.INJECTIVE):
                group.nodes += chain.nodes
                for each in chain.nodes:
                    self.group_of[each] = group

    def producer(self, tensor: Tensor) -> Group | None:
        """The group that writes `tensor` and can still grow at that end."""
        if tensor.trace is None or tensor.trace[0] not in self.group_of or tensor in self.kept:
            return None
        group = self.group_of[tensor.trace[0]]
        alone = self.role(group.last.op) is Role.ALONE
        full = len(group.nodes) >= MOST or len(group.results) != 1
        return None if alone or full or group.last is not tensor.trace[0] else group

    def takes(self, group: Group, tensor: Tensor, node: Node) -> bool:
        """Whether `node` may follow in `group`, being the only reader of its result."""
        if self.users[tensor] != [node] or node.device != group.last.device:
            return False
        if self.injective(group):
            return True  # no anchor: the definitions are composed
        places = [place for place, each in enumerate(node.inputs) if each is tensor]
        return len(places) == 1 and lands(node.op, places[0])

    def started(self, node: Node) -> Group:
        """A new group around `node`, which takes in the chains that only it reads."""
        role = self.role(node.op)
        group = Group([node], node if role is Role.ANCHOR else None)
        if role is Role.ALONE:
            return group
        for tensor in dict.fromkeys(node.inputs):
            chain = self.producer(tensor)
            if chain is not None and self.is_prologue(chain, tensor, node, role):
                group.nodes[:0] = chain.nodes
                for each in chain.nodes:
                    self.group_of[each] = group
        return group

    def is_prologue(self, chain: Group, tensor: Tensor, node: Node, role: Role) -> bool:
        """Whether `chain` is injective, read by `node` alone, and cheap enough to repeat."""
        if self.users[tensor] != [node] or node.device != chain.last.device:
            return False
        if not self.injective(chain):
            return False
        return role is not Role.ANCHOR or all(cheap(each.op) for each in chain.nodes)


@lru_cache(maxsize=4096)
def kind_of(op: Op) -> Kind:
    """What kind of map an operator's definition is."""
    return classify(*op.definition().outputs)


@lru_cache(maxsize=4096)
def cheap(op: Op) -> bool:
    """Whether computing an element again costs little: no functions such as exp or erf."""
    return not contains(op.definition().outputs, Math)


@lru_cache(maxsize=4096)
def lands(op: Op, position: int) -> bool:
    """Whether each element of operand `position` goes to one known place of the result."""
    definition = op.definition()
    operand = definition.inputs[position]
    return operand in read_inputs(*definition.outputs) and landing(definition, operand) is not None
