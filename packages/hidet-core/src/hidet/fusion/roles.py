"""What part an operator can play in a group."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum

from hidet.compute import Kind
from hidet.fusion.group import Group
from hidet.fusion.traits import is_update
from hidet.graph.kinds import kind_of
from hidet.graph.operator import Op
from hidet.graph.tensor import Node


class Role(StrEnum):
    """What part an operator can play in a group."""

    ANCHOR = "anchor"
    REDUCTION = "reduction"
    INJECTIVE = "injective"
    UPDATE = "update"
    """Elements that are computed one by one, and put at places which are computed too."""
    ALONE = "alone"

    @property
    def takes_no_epilogue(self) -> bool:
        """Whether nothing can take the elements one by one, or let them be put elsewhere."""
        return self in (Role.ALONE, Role.UPDATE)


class Roles:
    """The parts of operators; `scheduled` says whether one has a schedule of its own."""

    def __init__(self, scheduled: Callable[[Op], bool]) -> None:
        self.scheduled = scheduled
        self.known: dict[Op, Role] = {}

    def of(self, op: Op) -> Role:
        """What part an operator can play."""
        if op not in self.known:
            self.known[op] = self.found(op)
        return self.known[op]

    def found(self, op: Op) -> Role:
        """The same, found out."""
        if op.kind != "kernels":
            return Role.ALONE
        if self.scheduled(op):
            return Role.ANCHOR
        if is_update(op):
            return Role.UPDATE
        kind = kind_of(op)
        if kind is Kind.OPAQUE or len(op.results()) != 1:
            return Role.ALONE
        return Role.REDUCTION if kind is Kind.REDUCTION else Role.INJECTIVE

    def injective(self, group: Group) -> bool:
        """Whether the group only computes elements, each from a few others."""
        return all(self.of(each.op) is Role.INJECTIVE for each in group.nodes)

    def updates(self, group: Group) -> bool:
        """Whether the group puts elements that it computes into a tensor, where that lies."""
        *before, last = group.nodes
        injective = all(self.of(each.op) is Role.INJECTIVE for each in before)
        return injective and self.of(last.op) is Role.UPDATE

    def of_rows(self, nodes: Iterable[Node]) -> bool:
        """Whether operators only compute elements and reduce."""
        return {self.of(each.op) for each in nodes} <= {Role.INJECTIVE, Role.REDUCTION}

    def reduce(self, nodes: Iterable[Node]) -> bool:
        """Whether one of the operators reduces."""
        return any(self.of(each.op) is Role.REDUCTION for each in nodes)
