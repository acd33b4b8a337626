"""Where in a model a node is, as errors and reports say it."""

from __future__ import annotations

from onnx import NodeProto

from hidet.errors import Place


def place_of(node: NodeProto, model: str, called_from: Place | None = None) -> Place:
    """The place of a node, which a file of ONNX knows by names alone."""
    return Place(model, 0, called_from=called_from, node=called(node))


def called(node: NodeProto) -> str:
    """How messages name a node: by its name, else by its first result, and its operator."""
    name = node.name or next((f"-> {each}" for each in node.output if each), "")
    return f"node `{name}` ({title(node)})"


def title(node: NodeProto) -> str:
    """What users call a node's operator."""
    domain = "" if node.domain in ("", "ai.onnx") else f"{node.domain}."
    overload = getattr(node, "overload", "")
    return f"{domain}{node.op_type}" + (f":{overload}" if overload else "")
