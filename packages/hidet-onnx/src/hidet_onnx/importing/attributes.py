"""Attributes of nodes as Python values, as converters take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, TypeProto

from hidet.errors import BadArgument, NotYet

Kind = AttributeProto.AttributeType


class Reader:
    """Reads attributes; `tensor`, `graph` and `type` make of theirs what the importer wants."""

    def __init__(
        self,
        tensor: Callable[[TensorProto], Any],
        graph: Callable[[GraphProto], Any],
        type: Callable[[TypeProto], Any],
    ) -> None:
        self.by_kind: dict[int, Callable[[AttributeProto], Any]] = {
            Kind.FLOAT: lambda a: a.f,
            Kind.INT: lambda a: a.i,
            Kind.STRING: lambda a: text(a.s),
            Kind.TENSOR: lambda a: tensor(a.t),
            Kind.GRAPH: lambda a: graph(a.g),
            Kind.TYPE_PROTO: lambda a: type(a.tp),
            Kind.FLOATS: lambda a: tuple(a.floats),
            Kind.INTS: lambda a: tuple(a.ints),
            Kind.STRINGS: lambda a: tuple(map(text, a.strings)),
            Kind.TENSORS: lambda a: tuple(map(tensor, a.tensors)),
            Kind.GRAPHS: lambda a: tuple(map(graph, a.graphs)),
            Kind.TYPE_PROTOS: lambda a: tuple(map(type, a.type_protos)),
        }

    def __call__(self, node: NodeProto) -> dict[str, Any]:
        """The attributes of a node by name."""
        return {each.name: self.value(each, node) for each in node.attribute}

    def value(self, attribute: AttributeProto, node: NodeProto) -> Any:
        """One attribute."""
        read = self.by_kind.get(attribute.type)
        if read is None:
            raise NotYet(
                f"attribute {attribute.name!r} of {node.op_type} is of kind "
                f"{attribute.type}, which is not read"
            )
        return read(attribute)


def require_own_attributes(node: NodeProto) -> None:
    """Raise BadArgument for an attribute that stands for one of a function that is not there."""
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            raise BadArgument(
                f"attribute {attribute.name!r} of {node.op_type} is that of a function, "
                f"{attribute.ref_attr_name!r}, but the node is in none"
            )


def text(given: bytes) -> str | bytes:
    """A string; bytes that are no text stay what they are."""
    try:
        return given.decode("utf-8")
    except UnicodeDecodeError:
        return given
