"""Closed graphs as attributes of operators: the bodies of control flow.

A body reads its inputs and nothing else: what it takes from around it, weights too, is an operand
of its operator. So a body can be compared, stored, optimised and compiled by itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from hidet.errors import BadArgument, InternalError
from hidet.graph.canonical import canonical
from hidet.graph.data_sizes import data_sizes_among, sizes_in, sizes_of
from hidet.graph.operator import Nested, Op, OpKind, family, resized
from hidet.graph.tensor import Node, Tensor
from hidet.ir.expr import Expr, Var, wrap
from hidet.types import Size, TensorType

if TYPE_CHECKING:
    from hidet.graph.flow import FlowGraph

MAX_DEPTH = 32
"""How deep bodies may lie within each other, in graphs, plans and files alike."""


class Body(Nested):
    """A closed graph; equal to others that compute the same, whatever their tensors are called.

    Its symbolic sizes are those of the graph that it is used in, and those that its own data tell:
    these have names that no body within it and none around it has (`data_size_prefix`).
    """

    def __init__(self, graph: FlowGraph) -> None:
        if graph.constants:
            raise InternalError(f"a body has constants of its own: {graph.constants}")
        self.graph = graph
        if data_sizes := data_sizes_among(graph.nodes, graph.inputs):
            raise InternalError(f"a body mentions {data_sizes}, which its graph does not tell")
        if self.depth > MAX_DEPTH:
            raise BadArgument(
                f"control flow is {self.depth} levels deep; the limit is {MAX_DEPTH}",
                help="turn inner branches into `where`, or compute them before",
            )

    @property
    def inputs(self) -> tuple[TensorType, ...]:
        """The types of what it reads."""
        return tuple(each.type for each in self.graph.inputs)

    @property
    def outputs(self) -> tuple[TensorType, ...]:
        """The types of what it gives."""
        return tuple(each.type for each in self.graph.results)

    @cached_property
    def depth(self) -> int:
        """How many bodies lie within each other, itself among them."""
        return depth_of(self.graph.nodes)

    @cached_property
    def symbols(self) -> tuple[Var, ...]:
        """The symbols of outside that its types and its operators mention."""
        found = dict.fromkeys(var for each in self.graph.inputs for var in sizes_of(each))
        found.update(dict.fromkeys(var for node in self.graph.nodes for var in sizes_in(node)))
        own = {each.size for each in self.graph.data_sizes}
        return tuple(var for var in found if var not in own)

    @cached_property
    def digest(self) -> str:
        """A name for what it computes."""
        return hashlib.sha256("\n".join(canonical(self.graph)).encode()).hexdigest()

    def with_sizes(self, change: Callable[[Expr], Size]) -> Self:
        """The same with each symbolic size changed, within its operators too."""
        new: dict[Tensor, Tensor] = {
            each: Tensor(resized(each.type, change), each.device, name=each.name)
            for each in self.graph.inputs
        }
        for node in self.graph.nodes:
            inputs = tuple(new[each] for each in node.inputs)
            made = Node(node.op.with_sizes(change), inputs, node.place, node.device)
            new.update(zip(node.outputs, made.outputs, strict=True))
        outputs = [new[each] for each in self.graph.outputs]
        graph = self.graph.with_outputs(outputs, [new[each] for each in self.graph.inputs])
        graph.data_sizes = tuple(
            replace(
                each,
                equals=None if each.equals is None else change(wrap(each.equals)),
                holds=tuple(one.changed(change) for one in each.holds),
            )
            for each in graph.data_sizes
        )
        return type(self)(graph)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Body) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Body({self.digest[:16]!r})"


@family
class Region(Op):
    """Control flow: an operator whose results come from graphs that run as often as data say."""

    kind: ClassVar[OpKind] = "region"

    def bodies(self) -> dict[str, Body]:
        """Its graphs, by what they are to it: "then", "else", "body"."""
        raise NotImplementedError(type(self).__name__)

    def with_bodies(self, change: Callable[[Body], Body]) -> Region:
        """The same operator with each of its graphs changed."""
        raise NotImplementedError(type(self).__name__)

    def follow(self, run: Callable[..., Any], *operands: Any) -> Any:
        """What it gives of operands, as `reference` has them, where `run` computes its graphs."""
        raise NotImplementedError(type(self).__name__)

    def define(self, *operands: Any) -> Any:
        """There is no definition: it runs plans of its bodies, not kernels."""
        raise InternalError(f"{self.name} is control flow, which has no definition")


def depth_of(nodes: Iterable[Node]) -> int:
    """How deep bodies lie within each other in one of these nodes, itself counted."""
    return 1 + max((body.depth for node in nodes for body in bodies_of(node.op)), default=0)


def data_size_prefix(nodes: Iterable[Node]) -> str:
    """What names begin with of the data-dependent sizes in a body of these nodes: bodies around it
    are deeper ones, and have other names. Nothing else has such a name, an axis of an input being
    called after its number."""
    return f"body{depth_of(nodes)}."


def bodies_of(op: Op) -> tuple[Body, ...]:
    """The graphs within an operator; none but in control flow."""
    return tuple(op.bodies().values()) if isinstance(op, Region) else ()
