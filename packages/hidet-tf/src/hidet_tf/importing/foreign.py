"""What TensorFlow runs: operators that the compiler lacks.

One whose operands and results are tensors of known sizes is a step of the graph. Another one runs
between graphs, where it may read and give text, handles, and tensors of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from hidet.frontend.execute import HostStep
from hidet.frontend.host_values import HostFunction, HostValue
from hidet.frontend.staying import HostCall, numpy_step
from hidet.graph import Tensor
from hidet.ir.expr import Var
from hidet.types import Size, TensorType, i32
from hidet_tf.dtypes import hidet_dtype, is_plain
from hidet_tf.importing.probing import told_shapes
from hidet_tf.importing.region import GIVEN, Region, function_of
from hidet_tf.importing.resource import Resource
from hidet_tf.importing.walk import ASSIGNS, functions_of, mentions
from hidet_tf.tensors import lent
from hidet_tf.variables import Variable


@dataclass(frozen=True)
class TfRun:
    """Runs a region: arrays and tensors in, tensors of TensorFlow out.

    `fixed` are its last arguments, the same at each call: handles and text.
    """

    region: Region
    fixed: tuple[Any, ...] = ()

    def __call__(self, *values: Any) -> Sequence[Any]:
        """The results; what TensorFlow is given it may keep, so that arrays are copied."""
        pairs = zip(values, self.region.specs, strict=False)
        given = [v if tf.is_tensor(v) else tf.constant(v, spec.dtype) for v, spec in pairs]
        return self.function(*given, *self.fixed)

    @cached_property
    def function(self) -> Any:
        """What runs, made at the first call."""
        return function_of(self.region.graph_def())

    def giving(self, numbers: Sequence[int]) -> TfRun:
        """What gives only the results of these numbers."""
        wanted = tuple(self.region.wanted[number] for number in numbers)
        return replace(self, region=replace(self.region, wanted=wanted))

    @property
    def is_stateful(self) -> bool:
        """Whether an operator draws random numbers, or has effects."""
        return any(op.op_def.is_stateful for op in self.region.ops)


@dataclass(frozen=True)
class Left:
    """An operator that is left to TensorFlow, with what its operands became."""

    op: tf.Operation
    given: Sequence[Any]
    device: str

    @cached_property
    def operands(self) -> list[Any]:
        """The values that a call brings, each once."""
        pairs = zip(self.op.inputs, self.given, strict=True)
        values = (v for t, v in pairs if t.op.type != "Const" and isinstance(v, Tensor | HostValue))
        return [*dict.fromkeys(values)]

    @property
    def is_possible(self) -> bool:
        """Whether TensorFlow can be given all operands."""
        kinds = (Tensor, HostValue, Variable, Resource, np.ndarray)
        variables = [each for each in self.given if isinstance(each, Variable)]
        # What is assigned is written after the call, and what is read is read before it.
        is_apart = not any(each.after for each in variables) and not writes(self.op, variables)
        return is_apart and all(isinstance(each, kinds) for each in self.given)

    @cached_property
    def run(self) -> TfRun:
        """The region of the operator, with the constants it reads."""
        consts = {t.op: None for t in self.op.inputs if t.op.type == "Const"}
        places = {op: (number, 0) for number, op in enumerate(consts)}
        given = {value: (GIVEN, number) for number, value in enumerate(self.operands)}
        specs = [spec_of(self.tensor_of(each)) for each in self.operands]
        fixed: list[Any] = []
        sources: list[tuple[int, int]] = []
        for tensor, value in zip(self.op.inputs, self.given, strict=True):
            if tensor.op in places:
                sources.append(places[tensor.op])
            elif isinstance(value, Tensor | HostValue):
                sources.append(given[value])
            else:
                sources.append((GIVEN, len(specs)))
                specs.append(spec_of(tensor))
                fixed.append(tf.constant(value) if isinstance(value, np.ndarray) else value.handle)
        number = len(consts)
        wanted = tuple((number, result) for result in range(len(self.op.outputs)))
        operands = (*[()] * number, tuple(sources))
        return TfRun(Region((*consts, self.op), operands, tuple(specs), wanted), tuple(fixed))

    def tensor_of(self, value: Any) -> tf.Tensor:
        """The tensor of TensorFlow's graph that a value stands for."""
        pairs = zip(self.op.inputs, self.given, strict=True)
        return next(tensor for tensor, each in pairs if each is value)

    def call(self) -> HostCall | HostFunction | None:
        """How TensorFlow runs the operator; None if it cannot."""
        if not self.is_possible:
            return None
        pairs = [*zip(self.op.outputs, self.shapes(), strict=True)]
        types = [type_of(*each) if is_read(each[0]) else None for each in pairs]
        is_told = all(of or not is_read(t) for of, t in zip(types, self.op.outputs, strict=True))
        if any(types) and is_told and all(isinstance(each, Tensor) for each in self.given):
            return self.step(types)
        results = tuple(result_of(tensor, shape, self.device) for tensor, shape in pairs)
        return HostFunction(self.op.type, self.run, tuple(self.operands), results)

    def shapes(self) -> list[Shape]:
        """The shapes of the results."""
        if self.run.fixed:
            return [*map(static_shape, self.op.outputs)]
        return told_shapes(self.run.region.graph_def(), self.operands, self.op.outputs)

    def step(self, types: Sequence[TensorType | None]) -> HostCall:
        """The operator as a step of the graph; a file keeps it if it has no state."""
        run = self.run.giving([number for number, each in enumerate(types) if each is not None])
        stateful = run.is_stateful
        payload = None if stateful else run.region.graph_def().SerializeToString()
        step = as_step(run if stateful else lending(run.function))
        return HostCall(self.op.type, tuple(self.operands), tuple(types), step, payload, stateful)


def writes(op: tf.Operation, variables: Sequence[Variable]) -> bool:
    """Whether an operator assigns variables, itself or by a function that it runs."""
    functions = any(mentions(each, ASSIGNS) for each in functions_of(op))
    return bool(variables) and (op.type in ASSIGNS or functions)


def is_read(tensor: tf.Tensor) -> bool:
    """Whether somebody reads a result; the others need not be what TensorFlow says they are."""
    return bool(tensor.consumers()) or any(tensor is each for each in tensor.graph.outputs)


def spec_of(tensor: tf.Tensor) -> tf.TensorSpec:
    """The spec of a tensor of a graph."""
    return tf.TensorSpec(tensor.shape, tensor.dtype)


Shape: TypeAlias = "tuple[Size | None, ...] | None"
"""Sizes, None for one that nobody tells; None where even the rank is not known."""


def type_of(tensor: tf.Tensor, shape: Shape) -> TensorType | None:
    """The type of a result; None if it is no tensor of numbers with known sizes."""
    if shape is None or not is_plain(tensor.dtype):
        return None
    sizes = tuple(size for size in shape if size is not None)
    return TensorType(hidet_dtype(tensor.dtype), sizes) if len(sizes) == len(shape) else None


def result_of(tensor: tf.Tensor, shape: Shape, device: str) -> Tensor | HostValue:
    """What stands for a result that comes from between graphs: sizes that nobody knew are new."""
    name = tensor.op.name
    known = shape if shape is not None else static_shape(tensor)
    if known is None or not is_plain(tensor.dtype):
        return HostValue(spec_of(tensor), name)
    sizes = tuple(
        Var(f"{name}.{axis}", i32) if size is None else size for axis, size in enumerate(known)
    )
    return Tensor(TensorType(hidet_dtype(tensor.dtype), sizes), device, name=name)


def static_shape(tensor: tf.Tensor) -> Shape:
    """The shape that TensorFlow knows."""
    return None if tensor.shape.rank is None else tuple(tensor.shape.as_list())


def as_step(run: Callable[..., Sequence[Any]]) -> HostStep:
    """What gives tensors of TensorFlow as a step of the plan."""
    return numpy_step(lambda *arrays: [*map(np.asarray, run(*arrays))])


def lending(function: Any) -> Callable[..., Sequence[Any]]:
    """A function without state on arrays, which it reads where they lie."""
    return lambda *arrays: function(*map(lent, arrays))


def steps(host: Mapping[str, bytes]) -> Mapping[str, HostStep]:
    """The host steps of a file, from the regions that it keeps."""
    graph = tf.compat.v1.GraphDef.FromString
    return {key: as_step(lending(function_of(graph(kept)))) for key, kept in host.items()}
