"""The contract's cases in the toy's language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import hidet_toy
import numpy as np
from hidet_toy.language import Function, Line, Model

from hidet.testing.frontend_cases import Case

LAYER_NORM = Function(
    ("x", "weight", "bias"),
    [
        ("mean", "mean", ("x",), {"axes": [-1], "keepdims": True}),
        ("centred", "subtract", ("x", "mean"), {}),
        ("squares", "multiply", ("centred", "centred"), {}),
        ("variance", "mean", ("squares",), {"axes": [-1], "keepdims": True}),
        ("epsilon", "constant", (), {"value": np.float32(1e-5)}),
        ("sum", "add", ("variance", "epsilon"), {}),
        ("spread", "sqrt", ("sum",), {}),
        ("scaled", "divide", ("centred", "spread"), {}),
        ("weighted", "multiply", ("scaled", "weight"), {}),
        ("result", "add", ("weighted", "bias"), {}),
    ],
    "result",
)


@dataclass(frozen=True)
class Value:
    """The name of a value, and what writes it."""

    name: str
    writer: Writer

    def __mul__(self, factor: int) -> Value:
        return self.writer.multiply(self, self.writer.constant(np.int64(factor)))


class Writer:
    """Writes a line for each operator that it is asked for."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.functions = {"layer_norm": LAYER_NORM}
        self.numbers = count()

    def line(self, operator: str, *operands: Value, **attributes: Any) -> Value:
        name = f"v{next(self.numbers)}"
        self.lines.append((name, operator, tuple(each.name for each in operands), attributes))
        return Value(name, self)

    def __getattr__(self, operator: str) -> Callable[..., Value]:
        return partial(self.line, operator)

    def constant(self, value: Any) -> Value:
        return self.line("constant", value=value)

    def shaped(self, operator: str, x: Value, shape: Sequence[Any]) -> Value:
        sizes = [each if isinstance(each, Value) else self.constant(each) for each in shape]
        return self.line(operator, x, *sizes)

    def reshape(self, x: Value, shape: Sequence[Any]) -> Value:
        return self.shaped("reshape", x, shape)

    def expand(self, x: Value, shape: Sequence[Any]) -> Value:
        return self.shaped("expand", x, shape)

    def sum(self, x: Value, axes: Sequence[int], keepdims: bool = False) -> Value:
        return self.line("sum", x, axes=axes, keepdims=keepdims)

    def mean(self, x: Value, axes: Sequence[int], keepdims: bool = False) -> Value:
        return self.line("mean", x, axes=axes, keepdims=keepdims)

    def max(self, x: Value, axes: Sequence[int]) -> Value:
        return self.line("max", x, axes=axes)

    def argmax(self, x: Value, axis: int) -> Value:
        return self.line("argmax", x, axis=axis)

    def softmax(self, x: Value, axis: int) -> Value:
        return self.line("softmax", x, axis=axis)

    def transpose(self, x: Value, axes: Sequence[int]) -> Value:
        return self.line("transpose", x, axes=axes)

    def concat(self, parts: Sequence[Value], axis: int) -> Value:
        return self.line("concat", *parts, axis=axis)

    def slice(self, x: Value, axis: int, start: int, stop: int, step: int = 1) -> Value:
        return self.line("slice", x, axis=axis, start=start, stop=stop, step=step)

    def gather(self, x: Value, index: Value, axis: int) -> Value:
        return self.line("gather", x, index, axis=axis)

    def size(self, x: Value, axis: int) -> Value:
        return self.line("size", x, axis=axis)

    def conv(self, x: Value, weight: Value, stride: int, padding: int, groups: int = 1) -> Value:
        return self.line("conv", x, weight, stride=stride, padding=padding, groups=groups)

    def max_pool(self, x: Value, window: int, stride: int, padding: int = 0) -> Value:
        return self.line("max_pool", x, window=window, stride=stride, padding=padding)

    def avg_pool(self, x: Value, window: int, stride: int) -> Value:
        return self.line("avg_pool", x, window=window, stride=stride)

    def attention(self, q: Value, k: Value, v: Value) -> Value:
        size = self.line("to_float", self.size(q, 3))
        turned = self.transpose(k, [0, 1, 3, 2])
        scores = self.line("divide", self.matmul(q, turned), self.line("sqrt", size))
        return self.matmul(self.softmax(scores, 3), v)

    def function(self, body: Callable[..., Value], read: Sequence[Value]) -> str:
        """Write a function of the model; gives its name."""
        outer, self.lines = self.lines, []
        parameters = [Value(f"v{next(self.numbers)}", self) for _ in read]
        result = body(*parameters)
        name = f"f{len(self.functions)}"
        names = tuple(each.name for each in parameters)
        self.functions[name] = Function(names, self.lines, result.name)
        self.lines = outer
        return name

    def if_(
        self,
        condition: Value,
        then: Callable[..., Value],
        otherwise: Callable[..., Value],
        *read: Value,
    ) -> Value:
        functions = {"then": self.function(then, read), "otherwise": self.function(otherwise, read)}
        return self.line("if", condition, *read, **functions)

    def repeat(self, iterations: Any, body: Callable[..., Value], x: Value, *read: Value) -> Value:
        iterations = (
            iterations if isinstance(iterations, Value) else self.constant(np.int64(iterations))
        )
        return self.line("repeat", iterations, x, *read, body=self.function(body, (x, *read)))

    def foreign(self, x: Value) -> Value:
        return self.line("double", x)


class ToyAuthor:
    """Writes and compiles the cases."""

    unsupported = "double"

    def compile(self, case: Case, device: str, **options: Any) -> Any:
        return hidet_toy.compile(written(case), device, **options)


def written(case: Case) -> Model:
    """A case as a model of the toy's."""
    writer, inputs = Writer(), {}
    for position, shape in enumerate(case.shapes):
        sizes = {**dict(enumerate(shape)), **case.varying.get(position, {})}
        kind = "int64" if position in case.below else "float32"
        inputs[f"x{position}"] = kind, tuple(sizes.values())
    found = case.build(writer, *(Value(name, writer) for name in inputs))
    results = found if isinstance(found, tuple) else (found,)
    return Model(inputs, writer.lines, [each.name for each in results], writer.functions)
