"""A group: operators that become one scheduled kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hidet.errors import InternalError
from hidet.graph.tensor import Node, Tensor
from hidet.ir.order import producers_first
from hidet.optimize.separate_outputs import is_view
from hidet.schedules.base import Choice
from hidet.types import Size, bf16, f16

NARROW = f16, bf16
"""The floats that operators compute in float32."""


@dataclass(frozen=True, eq=False)
class OutputView:
    """A result, or a window of it from `starts` on, as it lies within a larger tensor.

    The layout of `tensor` says where; `whole` is what several groups write, each its part.
    """

    tensor: Tensor
    starts: tuple[Size, ...]
    whole: Tensor | None = None


@dataclass(frozen=True)
class Note:
    """Why a group goes no further; `readers` are the operators that it could have gone to."""

    text: str
    readers: tuple[Node, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(eq=False)
class Group:
    """Operators that become one scheduled kernel, in an order in which they can run.

    An operator may be in several groups: what costs nothing is computed again where it is read.
    """

    nodes: list[Node]
    anchor: Node | None = None
    reason: str = ""
    """Why the operators of a group that was split are apart."""
    notes: list[Note] = field(default_factory=list)
    """Why what reads the results, or makes the operands, is not in the group."""
    also: tuple[Tensor, ...] = ()
    """What leaves the group besides the last operator's results: it has their shape."""
    shared: tuple[Tensor, ...] = ()
    """Narrow floats that another group computes too, for itself or for others to read."""
    output_views: tuple[OutputView, ...] = ()
    """Where the last operator's result is written within larger tensors."""
    stored: bool = True
    """Whether the last operator's results have memory of their own."""
    is_concat: bool = False
    """Whether it puts together what others have written where its result lies: nothing runs."""
    choice: Choice | None = None
    """How the anchor is scheduled; None: as the cost model says."""
    calls: tuple[int, ...] = ()
    """What sizes that only calls tell are in the calls that it is scheduled for; none: in typical
    ones."""
    order: Mapping[Node, int] = field(default_factory=dict, repr=False)
    """The place of each operator in the graph, where others may still join."""

    @property
    def name(self) -> str:
        """The operators' names, joined."""
        named = [node for node in self.nodes if node.inputs] or self.nodes
        return "_".join(node.op.name for node in named[:6])

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
        own = self.last.outputs if self.stored else ()
        return (*self.also, *own, *(each.tensor for each in self.output_views))

    @property
    def rounded(self) -> frozenset[Tensor]:
        """What is rounded to its type for all its readers: what leaves the group, and what others
        compute too, so that a tensor has the same elements wherever it is read."""
        return frozenset((*self.also, *self.last.outputs, *self.shared))

    @property
    def is_shape(self) -> bool:
        """Whether it only gives new shapes to what lies in memory, for which nothing runs."""
        views = all(is_view(each) for node in self.nodes for each in node.outputs)
        return views and not self.output_views

    @property
    def is_free(self) -> bool:
        """Whether no kernel computes it: what it gives lies in memory already."""
        return self.is_shape or self.is_concat

    @property
    def apart(self) -> Group:
        """The same group with its result in memory of its own alone."""
        return replace(self, output_views=(), stored=True)

    def add(self, nodes: Iterable[Node]) -> None:
        """Let operators in; each is there once, and all stay in an order in which they can run."""
        self.nodes = list(dict.fromkeys([*self.nodes, *nodes]))
        self.nodes.sort(key=self.order.__getitem__)


def mark_shared(groups: Sequence[Group], besides: Collection[Tensor] = ()) -> None:
    """Let groups know which of their tensors several of them compute; `besides` are others'."""
    times = Counter(node for group in groups for node in group.nodes)
    others = set(besides)
    for group in groups:
        group.shared = tuple(
            each
            for node in group.nodes
            for each in node.outputs
            if each.dtype in NARROW and (times[node] > 1 or each in others)
        )


def require_made(groups: Sequence[Group], needed: Iterable[Tensor]) -> None:
    """Raise InternalError where a group reads what no group before it writes, or nobody writes what
    is `needed` at the end: kernels would read memory that nothing was written to."""
    written: set[Tensor] = set()
    nodes = {node for group in groups for node in group.nodes}
    for group in groups:
        # What a concatenation puts together was written within its own result.
        missing(() if group.is_concat else group.inputs, written, nodes, group.name)
        written.update(group.results)
    missing(needed, written, nodes, "the caller")


def missing(
    tensors: Iterable[Tensor], written: Collection[Tensor], nodes: Collection[Node], reader: str
) -> None:
    """Raise InternalError for the first of the tensors that some group computes and none wrote."""
    for each in tensors:
        if each.trace is not None and each.trace[0] in nodes and each not in written:
            raise InternalError(f"{reader} reads {each.type}, which no kernel before it writes")


Before: TypeAlias = Callable[[Group], Sequence[Group]]
"""The groups whose results a group reads."""


def in_order(groups: Sequence[Group], before: Before) -> list[Group]:
    """The groups, each behind those that it reads."""
    return producers_first(groups, lambda group: [*reversed(before(group))])


def waits(group: Group, other: Group, before: Before) -> bool:
    """Whether `group` needs something, besides its results, for which `other` is needed."""
    seen = {other}
    pending = [each for each in before(group) if each is not other]
    while pending:
        current = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        found = before(current)
        if other in found:
            return True
        pending += found
    return False
