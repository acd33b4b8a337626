"""The contract's cases as ONNX models of the newest operator set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partialmethod
from itertools import count
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, defs, helper, numpy_helper

import hidet_onnx
from hidet.testing.frontend_author import Array
from hidet.testing.frontend_cases import Case

ML = "ai.onnx.ml"


@dataclass(frozen=True)
class Value:
    """The name of a value, and what writes it."""

    name: str
    writer: Writer

    def __mul__(self, factor: int) -> Value:
        return self.writer.multiply(self, self.writer.constant(np.int64([factor])))


class Writer:
    """Writes a node for each operator that it is asked for; bodies read the names around them."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.held: list[TensorProto] = []
        self.numbers = count()

    def fresh(self) -> Value:
        return Value(f"v{next(self.numbers)}", self)

    def node(self, operator: str, *operands: Value, domain: str = "", **attributes: Any) -> Value:
        result = self.fresh()
        names = [each.name for each in operands]
        self.nodes.append(
            helper.make_node(operator, names, [result.name], domain=domain, **attributes)
        )
        return result

    def named(self, *operands: Value, operator: str) -> Value:
        return self.node(operator, *operands)

    add, subtract = partialmethod(named, operator="Add"), partialmethod(named, operator="Sub")
    multiply, divide = partialmethod(named, operator="Mul"), partialmethod(named, operator="Div")
    maximum, less = partialmethod(named, operator="Max"), partialmethod(named, operator="Less")
    exp, tanh = partialmethod(named, operator="Exp"), partialmethod(named, operator="Tanh")
    relu, sigmoid = partialmethod(named, operator="Relu"), partialmethod(named, operator="Sigmoid")
    matmul, where = partialmethod(named, operator="MatMul"), partialmethod(named, operator="Where")
    attention = partialmethod(named, operator="Attention")

    def constant(self, array: Any) -> Value:
        value = self.fresh()
        self.held.append(numpy_helper.from_array(np.asarray(array), value.name))
        return value

    def numbers_of(self, *values: int) -> Value:
        return self.constant(np.array(values, np.int64))

    def shape_of(self, shape: Sequence[Any]) -> Value:
        sizes = [each if isinstance(each, Value) else self.numbers_of(each) for each in shape]
        return self.concat(sizes, 0)

    def to_int(self, x: Value) -> Value:
        return self.node("Cast", x, to=TensorProto.INT32)

    def reduced(
        self, x: Value, axes: Sequence[int], keepdims: bool = False, *, operator: str
    ) -> Value:
        return self.node(operator, x, self.numbers_of(*axes), keepdims=int(keepdims))

    sum = partialmethod(reduced, operator="ReduceSum")
    mean = partialmethod(reduced, operator="ReduceMean")
    max = partialmethod(reduced, operator="ReduceMax")

    def argmax(self, x: Value, axis: int) -> Value:
        return self.node("ArgMax", x, axis=axis, keepdims=0)

    def softmax(self, x: Value, axis: int) -> Value:
        return self.node("Softmax", x, axis=axis)

    def layer_norm(self, x: Value, weight: Value, bias: Value) -> Value:
        return self.node("LayerNormalization", x, weight, bias, epsilon=1e-5)

    def conv(self, x: Value, weight: Value, stride: int, padding: int, groups: int = 1) -> Value:
        strides, pads = [stride] * 2, [padding] * 4
        return self.node("Conv", x, weight, strides=strides, pads=pads, group=groups)

    def max_pool(self, x: Value, window: int, stride: int, padding: int = 0) -> Value:
        size, strides, pads = [window] * 2, [stride] * 2, [padding] * 4
        return self.node("MaxPool", x, kernel_shape=size, strides=strides, pads=pads)

    def avg_pool(self, x: Value, window: int, stride: int) -> Value:
        return self.node("AveragePool", x, kernel_shape=[window] * 2, strides=[stride] * 2)

    def transpose(self, x: Value, axes: Sequence[int]) -> Value:
        return self.node("Transpose", x, perm=axes)

    def reshape(self, x: Value, shape: Sequence[Any]) -> Value:
        return self.node("Reshape", x, self.shape_of(shape))

    def expand(self, x: Value, shape: Sequence[Any]) -> Value:
        return self.node("Expand", x, self.shape_of(shape))

    def concat(self, parts: Sequence[Value], axis: int) -> Value:
        return self.node("Concat", *parts, axis=axis)

    def slice(self, x: Value, axis: int, start: int, stop: int, step: int = 1) -> Value:
        ends = (self.numbers_of(each) for each in (start, stop, axis, step))
        return self.node("Slice", x, *ends)

    def gather(self, x: Value, index: Value, axis: int) -> Value:
        return self.node("Gather", x, index, axis=axis)

    def size(self, x: Value, axis: int) -> Value:
        return self.node("Shape", x, start=axis, end=axis + 1)

    def nonzero(self, x: Value) -> Value:
        return self.node("Transpose", self.node("NonZero", x))

    def compress(self, x: Value, mask: Value) -> Value:
        return self.node("Compress", x, mask, axis=0)

    def size_from(self, x: Value) -> Value:
        return self.node("Reshape", x, self.numbers_of(1))

    def body(self, build: Callable[[], Sequence[Value]], *inputs: tuple[Value, int]) -> GraphProto:
        """A graph inside this one, with inputs of these element types."""
        outer, self.nodes = self.nodes, []
        outputs = [helper.make_empty_tensor_value_info(each.name) for each in build()]
        given = [helper.make_tensor_value_info(each.name, kind, None) for each, kind in inputs]
        graph = helper.make_graph(self.nodes, "body", given, outputs)
        self.nodes = outer
        return graph

    def if_(
        self,
        condition: Value,
        then: Callable[..., Value],
        otherwise: Callable[..., Value],
        *read: Value,
    ) -> Value:
        branches = {"then_branch": then, "else_branch": otherwise}
        return self.node(
            "If",
            condition,
            **{name: self.body(lambda b=build: [b(*read)]) for name, build in branches.items()},
        )

    def repeat(self, iterations: Any, body: Callable[..., Value], x: Value, *read: Value) -> Value:
        iterations = iterations if isinstance(iterations, Value) else self.numbers_of(iterations)
        iterations = self.node("Squeeze", iterations)
        yes = self.constant(np.True_)
        iteration, goes_on, now = self.fresh(), self.fresh(), self.fresh()
        graph = self.body(
            lambda: [self.node("Identity", goes_on), body(now, *read)],
            (iteration, TensorProto.INT64),
            (goes_on, TensorProto.BOOL),
            (now, TensorProto.FLOAT),
        )
        return self.node("Loop", iterations, yes, x, body=graph)

    def foreign(self, x: Value) -> Value:
        """By dropout in training that drops nothing."""
        ratio = self.constant(np.float32(1e-30))
        kept = self.node("Dropout", x, ratio, self.constant(np.True_), seed=1)
        return self.add(kept, x)


class Called:
    """A compiled model whose results are a list."""

    def __init__(self, model: ModelProto, device: str, options: dict[str, Any]) -> None:
        self.model = hidet_onnx.compile(model, device=device, options=options)
        self.save = self.model.save

    def __call__(self, *inputs: Array) -> list[Array]:
        return self.model.run(inputs)


class OnnxAuthor:
    """Writes and compiles the cases."""

    unsupported = "Dropout"

    def compile(self, case: Case, device: str, **options: Any) -> Called:
        return Called(written(case), device, options)


def written(case: Case) -> ModelProto:
    """A case as a model."""
    writer, inputs = Writer(), []
    for position, shape in enumerate(case.shapes):
        sizes = {**dict(enumerate(shape)), **case.varying.get(position, {})}
        kind = TensorProto.INT64 if position in case.below else TensorProto.FLOAT
        inputs.append(helper.make_tensor_value_info(f"x{position}", kind, [*sizes.values()]))
    found = case.build(writer, *(Value(each.name, writer) for each in inputs))
    results = found if isinstance(found, tuple) else (found,)
    outputs = [helper.make_empty_tensor_value_info(each.name) for each in results]
    graph = helper.make_graph(writer.nodes, str(case), inputs, outputs, writer.held)
    sets = [helper.make_opsetid("", defs.onnx_opset_version()), helper.make_opsetid(ML, 4)]
    return helper.make_model(graph, opset_imports=sets)
