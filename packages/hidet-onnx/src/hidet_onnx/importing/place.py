"""Where in a model a node is, as errors and reports say it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from onnx import NodeProto

from hidet.errors import BadArgument, HidetError, Place


def place_of(node: NodeProto, model: str, called_from: Place | None = None) -> Place:
    """The place of a node, which a file of ONNX knows by names alone."""
    return Place(model, 0, called_from=called_from, node=called(node))


@contextmanager
def naming_node(node: NodeProto, what: str = "converted") -> Iterator[None]:
    """What goes wrong in this block, and is no error of ours, is said to be about a node.

    A file may hold anything: a text where a number belongs, a number that fits no machine word. The
    converters, onnx's inference and numpy meet it each in their way.
    """
    try:
        yield
    except HidetError:
        raise
    except RecursionError:
        raise BadArgument(f"{called(node)} is nested too deeply") from None
    except Exception as error:
        raise BadArgument(
            f"{called(node)} cannot be {what}: {type(error).__name__}: {error}",
            help="check its operands and attributes with onnx.checker.check_model",
        ) from error


def called(node: NodeProto) -> str:
    """How messages name a node: by its name, else by its first result, and its operator."""
    name = node.name or next((f"-> {each}" for each in node.output if each), "")
    return f"node `{name}` ({title(node)})"


def title(node: NodeProto) -> str:
    """What users call a node's operator."""
    domain = "" if node.domain in ("", "ai.onnx") else f"{node.domain}."
    overload = getattr(node, "overload", "")
    return f"{domain}{node.op_type}" + (f":{overload}" if overload else "")
