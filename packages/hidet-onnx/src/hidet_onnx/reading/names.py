"""Names in a model file: texts, as the format has them in UTF-8."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto

from hidet.errors import BadArgument


def require_text(model: ModelProto) -> None:
    """Raise BadArgument for a name that is no UTF-8: protobuf reads it as bytes."""
    for name in names_of(model):
        if isinstance(name, bytes):
            raise BadArgument(
                f"the name {name!r} in the model is no text in UTF-8",
                help="the file is damaged, or was written by a faulty exporter",
            )


def names_of(model: ModelProto) -> Iterator[str]:
    """All names in a model."""
    yield from (each.domain for each in model.opset_import)
    for function in model.functions:
        yield from (function.name, function.domain, function.overload)
        yield from (*function.input, *function.output)
        yield from (each.domain for each in function.opset_import)
        yield from of_nodes(function.node)
    yield from of_graph(model.graph)


def of_graph(graph: GraphProto) -> Iterator[str]:
    """The names in a graph."""
    yield graph.name
    for tensor in graph.initializer:
        yield tensor.name
        yield from (text for each in tensor.external_data for text in (each.key, each.value))
    yield from (each.values.name for each in graph.sparse_initializer)
    for value in (*graph.input, *graph.output):
        yield from of_value(value)
    yield from of_nodes(graph.node)


def of_value(value: ValueInfoProto) -> Iterator[str]:
    """The name of an input or output, and those of its sizes."""
    yield value.name
    kind = value.type
    for outer in ("optional_type", "sequence_type"):
        kind = getattr(kind, outer).elem_type if kind.HasField(outer) else kind
    yield from (each.dim_param for each in kind.tensor_type.shape.dim)


def of_nodes(nodes: Iterable[NodeProto]) -> Iterator[str]:
    """The names in nodes and in their sub-graphs."""
    for node in nodes:
        yield from (node.name, node.op_type, node.domain, node.overload, *node.input, *node.output)
        for attribute in node.attribute:
            yield from (attribute.name, attribute.ref_attr_name)
            for graph in (attribute.g, *attribute.graphs):
                yield from of_graph(graph)
