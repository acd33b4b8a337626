"""What is checked of a whole model before anything of it is converted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter

from onnx import IR_VERSION, FunctionProto, ModelProto, NodeProto, OperatorSetIdProto, defs

from hidet.errors import BadArgument, NotYet
from hidet.frontend.importing.limits import Limits
from hidet_onnx.reading.names import require_text

Key = tuple[str, str, str]
"""A function by domain, name and overload."""

STANDARD = ("", "ai.onnx")


def require_sound(model: ModelProto, limits: Limits) -> None:
    """Raise an error for versions that nobody here knows, names that are no
    text, graphs nested too deep, and for functions that come to more nodes
    than `limits` allow, that call themselves, or that call each other too deep."""
    if model.ir_version > IR_VERSION:
        raise NotYet(
            f"the file is of version {model.ir_version} of ONNX's format; the installed onnx reads "
            f"those up to {IR_VERSION}",
            help="pip install --upgrade hidet-onnx onnx, or save the model with an older onnx",
        )
    require_text(model)
    require_known(model.opset_import, "the model")
    for function in model.functions:
        require_known(function.opset_import, f"the function {function.name}")
    uses = any(each.domain in STANDARD for each in model.graph.node)
    if uses and not any(each.domain in STANDARD for each in model.opset_import):
        raise BadArgument(
            "the model does not say of what version its operators are",
            help="onnx.helper.make_model(graph, opset_imports=[...]) writes the version",
        )
    for body in (model.graph, *model.functions):
        limits.require("bodies", depth(body.node))
    require_few(model, limits)


def require_known(imports: Iterable[OperatorSetIdProto], whose: str) -> None:
    """Raise an error for a version of the standard operators that is not known here."""
    newest = defs.onnx_opset_version()
    for each in imports:
        if each.domain in STANDARD and each.version > newest:
            raise NotYet(
                f"{whose} is written for version {each.version} of the operators; the installed "
                f"onnx knows those up to {newest}",
                help="pip install --upgrade hidet-onnx onnx, or export with an older opset_version",
            )
        if each.version < 1:
            raise BadArgument(
                f"{whose} is written for version {each.version} of the operators of "
                f"{each.domain or 'ai.onnx'!r}; the first version is 1"
            )


def require_few(model: ModelProto, limits: Limits) -> None:
    """Raise BadArgument if the functions of a model come to too many nodes, or to no end.

    Each function is counted once, however often it is called.
    """
    functions = {(each.domain, each.name, each.overload): each for each in model.functions}
    counts: dict[Key, int] = {}
    depths: dict[Key, int] = {}
    for key in callees_first(functions):
        called = [each for each in map(key_of, every(functions[key].node)) if each in functions]
        depths[key] = 1 + max((depths[each] for each in called), default=0)
        counts[key] = expanded(functions[key].node, counts)
        limits.require("calls", depths[key])
        limits.require("nodes", counts[key])
    limits.require("nodes", expanded(model.graph.node, counts))


def callees_first(functions: Mapping[Key, FunctionProto]) -> list[Key]:
    """The functions, each after those that it calls; BadArgument names those of a cycle."""
    calls = {
        key: {called for called in map(key_of, every(each.node)) if called in functions}
        for key, each in functions.items()
    }
    try:
        return list(TopologicalSorter(calls).static_order())
    except CycleError as error:
        chain = " -> ".join(name for _, name, _ in error.args[1][::-1])
        raise BadArgument(f"a function calls itself: {chain}") from None


def expanded(nodes: Iterable[NodeProto], counts: Mapping[Key, int]) -> int:
    """How many nodes these and their sub-graphs come to, functions expanded."""
    return sum(1 + counts.get(key_of(each), 0) for each in every(nodes))


def every(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    """The nodes, and those in their sub-graphs."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from every(graph.node)


def depth(nodes: Iterable[NodeProto]) -> int:
    """How deep graphs lie within graphs in these nodes."""
    graphs = [g for n in nodes for a in n.attribute for g in (a.g, *a.graphs) if g.node]
    return max((1 + depth(each.node) for each in graphs), default=0)


def key_of(node: NodeProto) -> Key:
    """The function that a node calls, if there is one of that name."""
    return node.domain, node.op_type, node.overload
