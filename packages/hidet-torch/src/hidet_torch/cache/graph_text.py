"""A graph of Dynamo's as text: everything that decides what becomes of it, and nothing else.

Only what PyTorch brings along is spelled: functions of its own found by their names, methods of
tensors, plain values. A graph with anything else in it (others' operators, graphs inside, tensors
that it holds) has no text.
"""

from __future__ import annotations

import _operator
import math
import os
from collections.abc import Mapping
from functools import cache, reduce
from pathlib import Path
from types import BuiltinFunctionType, EllipsisType, FunctionType, MethodDescriptorType
from typing import Any

import torch
from torch.fx.graph import _get_qualified_name
from torch.fx.immutable_collections import immutable_dict, immutable_list

PLAIN = frozenset(
    {
        *(type(None), bool, int, float, complex, str, EllipsisType),
        *(torch.dtype, torch.device, torch.layout, torch.memory_format),
    }
)
"""Types whose values `repr` tells from each other."""
ORDERED = frozenset({list, tuple, torch.Size, immutable_list})
NAMED = frozenset({dict, immutable_dict})
OPERATORS = ("aten", "prims")
"""Whose operators nobody defines but PyTorch."""
HOMES = {each.__name__: each for each in (torch, math, _operator)}
FOLDER = f"{Path(torch.__file__).parent}{os.sep}"


class NoText(Exception):
    """A graph holds something that no text tells from everything else."""


def graph_text(graph: torch.fx.Graph) -> list[str]:
    """The graph, a line for each node; NoText if that does not say all there is to it."""
    numbers = {node: f"%{number}" for number, node in enumerate(graph.nodes)}
    return [line(node, numbers) for node in graph.nodes]


def line(node: torch.fx.Node, numbers: Mapping[torch.fx.Node, str]) -> str:
    """One node, without its name."""
    given = f"{spelled(node.args, numbers)} {spelled(node.kwargs, numbers)}"
    if node.op == "call_function":
        return f"{function_name(node.target)} {given}"
    if node.op == "call_method" and is_tensor(node.args[0]):
        return f".{node.target} {given}"
    if node.op in ("placeholder", "output"):
        return f"{node.op} {given}"
    raise NoText(f"{node.op} {node.target}")


def is_tensor(value: Any) -> bool:
    """Whether it is a node whose value is a tensor."""
    return isinstance(value, torch.fx.Node) and isinstance(
        value.meta.get("example_value"), torch.Tensor
    )


def spelled(value: Any, numbers: Mapping[torch.fx.Node, str]) -> str:
    """An argument; nodes by their numbers."""
    if isinstance(value, torch.fx.Node):
        return numbers[value]
    kind = type(value)
    if kind in PLAIN:
        return repr(value)
    if kind in ORDERED:
        return f"{kind.__name__}({', '.join(spelled(each, numbers) for each in value)})"
    if kind in NAMED:
        each = [f"{key!r}: {spelled(item, numbers)}" for key, item in value.items()]
        return f"{kind.__name__}({', '.join(each)})"
    if kind is slice:
        return f"slice{spelled((value.start, value.stop, value.step), numbers)}"
    raise NoText(f"a value of type {kind.__name__}")


@cache
def function_name(function: Any) -> str:
    """The name under which PyTorch or Python has a function of theirs."""
    if isinstance(function, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        return operator_name(function)
    if not is_theirs(function):
        raise NoText(str(function))
    try:
        name: str = _get_qualified_name(function)
        root, *path = name.split(".")
        found = reduce(getattr, path, HOMES[root])
    except (RuntimeError, KeyError, AttributeError):
        raise NoText(str(function)) from None
    if found is not function:
        raise NoText(name)
    return name


def operator_name(function: Any) -> str:
    """The name of an operator, if nobody but PyTorch defines it."""
    name = str(function)
    if name.split(".")[0] not in OPERATORS:
        raise NoText(name)
    return name


def is_theirs(function: Any) -> bool:
    """Whether a function is compiled code, or written in PyTorch's own sources."""
    if isinstance(function, FunctionType):
        return function.__code__.co_filename.startswith(FOLDER)
    return isinstance(function, BuiltinFunctionType | MethodDescriptorType)
