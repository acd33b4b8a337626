"""Operators of a FuncGraph as a function of their own, which TensorFlow runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

GIVEN = -1
"""Stands for the arguments of a region where an operator's number is asked for."""


@dataclass(frozen=True)
class Region:
    """Operators to be run by TensorFlow, in an order in which they can.

    `operands` has for each operator where its operands come from: (GIVEN, number) is an argument of
    the region, as `specs` has them, (operator, number) a result of an operator before it. `wanted`
    are the results in these terms.
    """

    ops: tuple[tf.Operation, ...]
    operands: tuple[tuple[tuple[int, int], ...], ...]
    specs: tuple[tf.TensorSpec, ...]
    wanted: tuple[tuple[int, int], ...]

    def graph_def(self) -> Any:
        """The region as TensorFlow stores it: placeholders `in0`, ..., and results `out0`, ..."""
        made = tf.compat.v1.GraphDef()
        made.versions.producer = self.ops[0].graph.graph_def_versions.producer
        for op in self.ops:
            add_functions(made, op)
        for number, spec in enumerate(self.specs):
            node = made.node.add(name=f"in{number}", op="Placeholder")
            node.attr["dtype"].type = spec.dtype.as_datatype_enum
            node.attr["shape"].shape.CopyFrom(spec.shape.as_proto())
        for number, (op, operands) in enumerate(zip(self.ops, self.operands, strict=True)):
            node = made.node.add()
            node.CopyFrom(op.node_def)
            node.name = f"n{number}"
            del node.input[:]
            node.input.extend(map(spelled, operands))
            node.attr.pop("_class", None)
        for number, (op_number, result) in enumerate(self.wanted):
            own = self.ops[op_number].outputs[result].dtype
            node = made.node.add(name=f"out{number}", op="Identity")
            node.input.append(spelled((op_number, result)))
            node.attr["T"].type = own.as_datatype_enum
        return made


def spelled(source: tuple[int, int]) -> str:
    """Where an operand comes from, as a NodeDef says it."""
    op, number = source
    return f"in{number}" if op == GIVEN else f"n{op}:{number}"


def add_functions(graph: Any, op: tf.Operation) -> None:
    """Add the functions to a graph that an operator may call."""
    if not any("func" in each.type for each in op.op_def.attr):
        return
    known = {each.signature.name for each in graph.library.function}
    library = op.graph.as_graph_def().library
    graph.library.function.extend(f for f in library.function if f.signature.name not in known)


def function_of(graph: Any, specs: Sequence[tf.TensorSpec] | None = None) -> Any:
    """The ConcreteFunction of a region as it is stored, for arguments of other specs if need be.

    Operators without results run, too.
    """
    given = [node for node in graph.node if node.op == "Placeholder"]
    results = [f"{node.name}:0" for node in graph.node if node.name.startswith("out")]
    rest = [node.name for node in graph.node if node.name.startswith("n")]

    def body(*args: Any) -> Any:
        by_name = {f"{node.name}:0": each for node, each in zip(given, args, strict=True)}
        found = tf.graph_util.import_graph_def(
            graph, input_map=by_name, return_elements=[*results, *rest], name=""
        )
        with tf.control_dependencies(found[len(results) :]):
            return [tf.identity(each) for each in found[: len(results)]]

    own = [tf.TensorSpec(node.attr["shape"].shape, node.attr["dtype"].type) for node in given]
    signature = [*own] if specs is None else [*specs]
    return tf.function(body, input_signature=signature, autograph=False).get_concrete_function()
