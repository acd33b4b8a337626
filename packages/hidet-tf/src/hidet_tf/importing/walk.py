"""The operators of a function's graph, calls inlined.

A FuncGraph holds what was traced, also what nobody reads, and calls of other functions. Operators
lie in it in the order in which the user's program ran them, which is one in which they can run.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import tensorflow as tf

FuncGraph: TypeAlias = Any
"""TensorFlow has no public name for the type of `ConcreteFunction.graph`."""

CALLS = ("PartitionedCall", "StatefulPartitionedCall")
"""Operators that call a function: whatever their attributes say, its body takes their place."""

ASSIGNS = (
    "AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "ResourceScatterUpdate",
    "ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterMul", "ResourceScatterDiv",
    "ResourceScatterMin", "ResourceScatterMax", "ResourceScatterNdUpdate", "ResourceScatterNdAdd",
    "ResourceScatterNdSub", "ResourceScatterNdMin", "ResourceScatterNdMax",
    "ResourceStridedSliceAssign",
)  # fmt: skip
"""Operators that write to variables."""


@dataclass(frozen=True)
class Node:
    """An operator; `outer` are the calls around it, the outermost first."""

    op: tf.Operation
    outer: tuple[tf.Operation, ...] = ()


def walk(graph: FuncGraph, outer: tuple[tf.Operation, ...] = ()) -> Iterator[Node]:
    """The live operators of a graph in program order, those of called functions in place of the
    call; inputs of graphs are none."""
    for node in live(graph, outer):
        if node.op.type in CALLS:
            yield from walk(called(node.op), (*outer, node.op))
        else:
            yield node


def live(graph: FuncGraph, outer: tuple[tf.Operation, ...] = ()) -> list[Node]:
    """The operators that the results or the effects of a graph need, calls as they are."""
    needed: set[tf.Operation] = set()
    waiting = [each.op for each in graph.outputs] + list(graph.control_outputs)
    while waiting:
        op = waiting.pop()
        if op not in needed:
            needed.add(op)
            waiting += [each.op for each in op.inputs] + list(op.control_inputs)
    needed -= {each.op for each in graph.inputs}
    return [Node(op, outer) for op in graph.get_operations() if op in needed]


def called(call: tf.Operation) -> FuncGraph:
    """The graph of the function that an operator calls."""
    return function_graph(call.graph, call.get_attr("f").name)


def mentions(graph: FuncGraph, types: Collection[str]) -> bool:
    """Whether an operator of one of these types is in a graph, or in a function that it runs."""
    return any(
        op.type in types or any(mentions(each, types) for each in functions_of(op))
        for op in graph.get_operations()
    )


def functions_of(op: tf.Operation) -> Iterator[FuncGraph]:
    """The graphs of the functions that an operator runs."""
    for attr in op.op_def.attr:
        if attr.type in ("func", "list(func)"):
            found = op.get_attr(attr.name)
            for each in found if isinstance(found, list) else [found]:
                yield function_graph(op.graph, each.name)


def function_graph(graph: FuncGraph, name: str) -> FuncGraph:
    """The graph of a function that `graph` knows by name."""
    return graph._get_function(name).graph  # no public name leads there
