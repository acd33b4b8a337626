"""Functions: operators that are defined by other operators, in the model or in ONNX's schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, TypeProto, defs

from hidet_onnx.importing.place import title
from hidet_onnx.importing.scope import Scope
from hidet_onnx.importing.versions import domain_of, spelled_domain, versions_of


@dataclass(frozen=True)
class Body:
    """A function as one node calls it: its attributes are those of the call."""

    name: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    nodes: Sequence[NodeProto]
    versions: Mapping[str, int]


class Functions:
    """The functions that nodes of a model can be expanded by."""

    def __init__(self, model: ModelProto) -> None:
        self.local = {
            (spelled_domain(each.domain), each.name, each.overload): each
            for each in model.functions
        }

    def is_local(self, node: NodeProto) -> bool:
        """Whether the model itself has a function for a node."""
        return key_of(node) in self.local

    def body(
        self, node: NodeProto, scope: Scope, types: Callable[[], list[TypeProto]]
    ) -> Body | None:
        """The function that defines a node's operator; None if it has none.

        `types` tells those of its operands, on which some functions of ONNX's schemas depend.
        """
        if self.is_local(node):
            return called(self.local[key_of(node)], node, title(node), {})
        version = scope.versions.get(domain_of(node), 0)
        schema = schema_of(node, version)
        found = None if schema is None else of_schema(schema, node, version, types)
        if found is None:
            return None
        return called(found, node, title(node), scope.versions, schema)


def key_of(node: NodeProto) -> tuple[str, str, str]:
    """Which function a node calls."""
    return domain_of(node), node.op_type, node.overload


def schema_of(node: NodeProto, version: int) -> Any:
    """ONNX's schema of a node's operator; None if there is none of that version."""
    try:
        return defs.get_schema(node.op_type, version, domain_of(node))
    except defs.SchemaError:
        return None


def of_schema(
    schema: Any, node: NodeProto, version: int, types: Callable[[], list[TypeProto]]
) -> FunctionProto | None:
    """The function by which a schema defines its operator, for a node; None if there is none."""
    text = b""
    if usable(schema.function_opset_versions, version):
        text = schema.get_function_with_opset_version(version)
    elif usable(schema.context_dependent_function_opset_versions, version):
        operands = [each.SerializeToString() for each in types()]
        text = schema.get_context_dependent_function_with_opset_version(
            version, node.SerializeToString(), operands
        )
    return FunctionProto.FromString(text) if text else None


def usable(versions: Sequence[int], version: int) -> bool:
    """Whether a function was written for this version or one before it."""
    return any(each <= version for each in versions)


def called(
    function: FunctionProto,
    node: NodeProto,
    name: str,
    versions: Mapping[str, int],
    schema: Any = None,
) -> Body:
    """A function with the attributes of one call, or their defaults."""
    given = {} if schema is None else defaults(schema)
    given |= {each.name: each for each in function.attribute_proto}
    given |= {each.name: each for each in node.attribute}
    return Body(
        name,
        list(function.input),
        list(function.output),
        [resolved(each, given) for each in function.node],
        {**versions, **versions_of(function.opset_import)},
    )


def defaults(schema: Any) -> dict[str, AttributeProto]:
    """The attributes that a schema gives values to."""
    found = {name: each.default_value for name, each in schema.attributes.items()}
    return {name: value for name, value in found.items() if value.name or value.type}


def resolved(node: NodeProto, given: Mapping[str, AttributeProto]) -> NodeProto:
    """A node of a function with the attributes it takes from the call; itself if it takes none."""
    if not refers(node):
        return node
    made = NodeProto()
    made.CopyFrom(node)
    pending = [made]
    while pending:
        each = pending.pop()
        settle(each, given)
        for attribute in each.attribute:
            for graph in [attribute.g, *attribute.graphs]:
                pending += graph.node
    return made


def settle(node: NodeProto, given: Mapping[str, AttributeProto]) -> None:
    """Put the call's attributes in the place of the references to them; one not given is left
    out."""
    kept = []
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            kept.append(attribute)
        elif attribute.ref_attr_name in given:
            value = AttributeProto()
            value.CopyFrom(given[attribute.ref_attr_name])
            value.name = attribute.name
            kept.append(value)
    del node.attribute[:]
    node.attribute.extend(kept)


def refers(node: NodeProto) -> bool:
    """Whether a node, or one in its sub-graphs, takes an attribute from the call."""
    pending = [node]
    while pending:
        for attribute in pending.pop().attribute:
            if attribute.ref_attr_name:
                return True
            for graph in [attribute.g, *attribute.graphs]:
                pending += graph.node
    return False
