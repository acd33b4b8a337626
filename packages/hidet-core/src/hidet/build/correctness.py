"""Which operator of a graph computes something else than it means, on given inputs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np

from hidet.build.compile import compile_graph
from hidet.build.differences import Report, Row, expected_error, harmonic_error
from hidet.build.eager import as_tensor, given_view, type_of
from hidet.build.leeway import error_near_steps, error_of_results
from hidet.build.stages.iterations import given_to_bodies, needs_framework
from hidet.build.target import device_of
from hidet.errors import BadArgument, UnsupportedOp
from hidet.fusion.compose import leading_to
from hidet.graph.body import Region
from hidet.graph.evaluate import bind, learn, refer, resolved
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import Op
from hidet.graph.tensor import Node, Tensor, moved
from hidet.ir.expr import Expr, Var
from hidet.ops.indexing.in_place import updated_tensor
from hidet.runtime.executor import Executor
from hidet.types import DType, TensorType

Array = np.ndarray[Any, Any]
BATCH_BYTES = 1 << 30
"""How many bytes of operands and results are on the device at once."""


def correctness_report(
    graph: FlowGraph,
    inputs: Sequence[Tensor],
    expected: Mapping[Tensor, Array] | None = None,
    float64: bool = False,
    outputs: bool = True,
    iteration: int = 0,
) -> Report:
    """Compare each operator, compiled alone under the options in force, with what it means.

    `expected` holds what the framework computed for some tensors: the operators that make them are
    compared with that, or with numpy in `float64`; all others with numpy's. Each operator is given
    what those before it should have computed. With `outputs` the whole compiled graph runs too.
    Of control flow each operator of a body that runs is compared so, ahead of the whole, on the
    values of one iteration: `iteration`, counted from 0, or the last one if there are fewer.
    """
    arrays = [each.cpu().numpy().copy() for each in inputs]
    meaning = Meaning(graph, arrays, expected or {}, float64)
    rows = [
        Row("placeholder", each.name or "", each.dtype.name, 0.0, place=None)
        for each in graph.inputs
    ]
    rows += operator_rows(meaning, iteration)
    if outputs:
        rows += whole(meaning)
    return Report(tuple(rows))


def operator_rows(meaning: Meaning, iteration: int) -> list[Row]:
    """The rows of a graph's operators, in order, each after those of the bodies that it runs."""
    nodes = meaning.graph.nodes
    found = {node: [foreign_row(node)] for node in nodes if node.op.kind == "framework"}
    for each in batches(meaning, [node for node in nodes if is_compared(node)]):
        found |= compared(meaning, each)
    rows: list[Row] = []
    for node in nodes:
        rows += body_rows(meaning, node, iteration)
        rows += found.get(node, ())
    return rows


def body_rows(meaning: Meaning, node: Node, iteration: int) -> Iterator[Row]:
    """The rows of the operators in the bodies that a node runs, at its place if they have none."""
    op = meaning.op(node)
    if not isinstance(op, Region) or needs_framework(op):
        return
    operands = [meaning.stored[each] for each in node.inputs]
    for name, body, given in given_to_bodies(op, operands, iteration):
        pairs = zip(given, body.graph.inputs, strict=True)
        arrays = [stored(value, each.dtype) for value, each in pairs]
        for each in operator_rows(Meaning(body.graph, arrays, {}, meaning.float64), iteration):
            within = f"{op.name}.{name}" + (f".{each.within}" if each.within else "")
            yield replace(each, within=within, place=each.place or node.place)


class Meaning:
    """What each tensor of a graph should be for these inputs.

    `stored` has the values in the tensors' types, which operators are given; `wanted` what they are
    compared with.
    """

    def __init__(
        self,
        graph: FlowGraph,
        inputs: Sequence[Array],
        expected: Mapping[Tensor, Array],
        float64: bool,
    ) -> None:
        if len(inputs) != len(graph.inputs):
            raise BadArgument(f"{len(inputs)} tensors for {len(graph.inputs)} inputs")
        self.graph, self.expected, self.float64 = graph, expected, float64
        self.symbols: dict[Var, Expr] = {}
        self.stored: dict[Tensor, Array] = {}
        self.wanted: dict[Tensor, Array] = {}
        self.exact: dict[Tensor, Array] = {}
        """In float64 all the way, where that was asked for: what outputs are compared with."""
        for tensor, value in zip(graph.inputs, inputs, strict=True):
            bind(tensor, value.shape, self.symbols)
            self.stored[tensor] = value
        for constant in graph.constants:
            self.stored[constant] = constant.cpu().numpy()
        self.data_sizes = {tensor: size for size, tensor in graph.size_sources.items()}
        self.learn(self.stored)
        for node in graph.nodes:
            self.add(node)

    def learn(self, tensors: Iterable[Tensor]) -> None:
        """Note the sizes that tensors tell whose values are there now."""
        for each in self.data_sizes.keys() & set(tensors):
            learn(self.data_sizes[each], self.stored[each], self.symbols)

    def add(self, node: Node) -> None:
        """What a node should compute."""
        op, known = self.op(node), [self.expected.get(each) for each in node.outputs]
        if op.kind == "framework" and any(each is None for each in known):
            raise UnsupportedOp(
                f"{op.name} runs in the framework, which has to say what it computes",
                place=node.place,
            )
        refers = op.kind != "framework" and (self.float64 or any(each is None for each in known))
        given = [self.stored[each] for each in node.inputs]
        meant = refer(op, given) if refers else [np.asarray(each) for each in known]
        for tensor, one, data_sizes in zip(node.outputs, meant, known, strict=True):
            self.wanted[tensor] = one if data_sizes is None or self.float64 else data_sizes
            self.stored[tensor] = stored(one if data_sizes is None else data_sizes, tensor.dtype)
        self.learn(node.outputs)
        if self.float64:
            wide = [self.exact.get(each, self.stored[each]) for each in node.inputs]
            follow = refer(op, wide) if op.kind != "framework" else meant
            self.exact.update(zip(node.outputs, follow, strict=True))

    def op(self, node: Node) -> Op:
        """The node's operator with all sizes as numbers, making a tensor of its own."""
        op = node.op.with_sizes(lambda size: resolved(size, self.symbols))
        return replace(op, in_place=False) if getattr(op, "in_place", False) else op  # type: ignore[call-arg]

    def nbytes(self, node: Node) -> int:
        """Bytes of what a node reads and writes."""
        return sum(self.stored[each].nbytes for each in (*node.inputs, *node.outputs))


def is_compared(node: Node) -> bool:
    """Whether a node computes something from tensors, here and not in the framework."""
    return node.op.kind != "framework" and bool(node.inputs)


def stored(value: Array, of: DType) -> Array:
    """Values as a tensor of that type has them."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.ascontiguousarray(np.asarray(value).astype(of.numpy)).reshape(np.shape(value))


def batches(meaning: Meaning, nodes: Sequence[Node]) -> Iterator[list[Node]]:
    """The nodes in order, as many at once as there is memory for."""
    found: list[Node] = []
    used = 0
    for node in nodes:
        used += meaning.nbytes(node)
        if found and used > BATCH_BYTES:
            yield found
            found, used = [], meaning.nbytes(node)
        found.append(node)
    if found:
        yield found


def compared(meaning: Meaning, nodes: Sequence[Node]) -> dict[Node, list[Row]]:
    """A row for each result of these nodes, all compiled together, none fused with another."""
    alone, given = [], []
    for node in nodes:
        inputs = tuple(stand_in(meaning, each) for each in node.inputs)
        given += [(new, old) for new, old in zip(inputs, node.inputs, strict=True) if is_open(new)]
        alone.append(Node(meaning.op(node), inputs, node.place, node.device))
    cut = FlowGraph(
        (new for new, _ in given), (each for node in alone for each in node.outputs), "correctness"
    )
    found = iter(run(cut, [on_device(meaning.stored[old], old) for _, old in given]))
    return {
        node: [
            operator_row(meaning, node, index, next(found)) for index in range(len(node.outputs))
        ]
        for node in nodes
    }


def stand_in(meaning: Meaning, tensor: Tensor) -> Tensor:
    """A constant itself, a number made again, anything else as an input of its own."""
    if tensor.storage is not None:
        return tensor
    if tensor.trace is not None and not tensor.trace[0].inputs and tensor not in meaning.expected:
        node, at = tensor.trace
        return Node(meaning.op(node), (), node.place, node.device).outputs[at]
    shape = meaning.stored[tensor].shape
    return Tensor(TensorType(tensor.dtype, shape), tensor.device)


def is_open(tensor: Tensor) -> bool:
    """Whether a tensor waits for a value."""
    return tensor.storage is None and tensor.trace is None


def whole(meaning: Meaning) -> list[Row]:
    """A row for each output of the graph, compiled as a whole; updates in place do not come out."""
    graph = meaning.graph
    found = run(graph, [on_device(meaning.stored[each].copy(), each) for each in graph.inputs])
    kept = [each for each in graph.results if updated_tensor(each) is None]
    wanted = {**meaning.stored, **meaning.wanted, **meaning.exact}
    more = sqrt(max(1, len(graph.nodes)))  # errors of operators in a chain add up, at random
    rows = []
    for tensor, value in zip(kept, found, strict=True):
        error = harmonic_error(value, stored(wanted[tensor], tensor.dtype))
        limit = more * error_of_results(tensor.dtype, leading_to([tensor], graph.nodes))
        rows.append(Row("output", "", tensor.dtype.name, error, limit))
    return rows


def operator_row(meaning: Meaning, node: Node, index: int, actual: Array) -> Row:
    """The row of one result of an operator."""
    tensor = node.outputs[index]
    wanted = stored(meaning.wanted[tensor], tensor.dtype)
    made = Row(
        "operator",
        repr(node.op),
        tensor.dtype.name,
        harmonic_error(actual, wanted),
        expected_error(tensor.dtype, node.op.name),
        node.place,
    )
    if not made.is_out_of_line or tensor.dtype.is_float or isinstance(node.op, Region):
        return made
    given = [meaning.stored[each] for each in node.inputs]
    return replace(made, error=error_near_steps(meaning.op(node), given, index, actual, wanted))


def foreign_row(node: Node) -> Row:
    """The row of what runs in the framework: nothing is compared."""
    what = str(getattr(node.op, "key", node.op.name))
    return Row("framework", what, node.outputs[0].dtype.name, place=node.place)


def on_device(array: Array, tensor: Tensor) -> Tensor:
    """An array as values of a tensor, where that lies."""
    shape = tuple(map(int, array.shape))
    return moved(Tensor(TensorType(tensor.dtype, shape), "cpu", array), tensor.device)


def run(graph: FlowGraph, inputs: Sequence[Tensor]) -> list[Array]:
    """The outputs of a graph that is compiled for this call only."""
    if not graph.outputs:
        return []
    compiled = compile_graph(graph)
    weights = {name: given_view(tensor) for name, tensor in compiled.weights.items()}
    executor = Executor(compiled.archive, device_of(graph), weights=weights)
    views = executor([given_view(each) for each in inputs])
    return [as_tensor(view, type_of(view)).cpu().numpy() for view in views]
