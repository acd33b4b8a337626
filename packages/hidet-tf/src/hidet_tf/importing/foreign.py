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

from hidet.compute.guards import known_late
from hidet.errors import NotYet
from hidet.frontend.running.execute import HostStep
from hidet.frontend.running.fallback import HostCall, numpy_step
from hidet.frontend.running.host_values import HostFunction, HostValue
from hidet.graph import Tensor
from hidet.ir.expr import Var
from hidet.types import Size, TensorType, i32
from hidet_tf.dtypes import hidet_dtype, is_plain
from hidet_tf.importing.closure import Closure
from hidet_tf.importing.probing import probed_shapes
from hidet_tf.importing.region import Region, function_of
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
    """An operator that is left to TensorFlow; `value` says what a tensor became."""

    op: tf.Operation
    value: Callable[[tf.Tensor], Any]
    device: str

    @cached_property
    def closure(self) -> Closure:
        """The operator with what it needs."""
        return Closure(self.op, self.value)

    @cached_property
    def run(self) -> TfRun:
        """What runs the operator."""
        return TfRun(self.closure.region(), self.closure.handles())

    @property
    def is_apart(self) -> bool:
        """Whether TensorFlow finds variables as the function has them: what is assigned is written
        after the call, and what is read is read before it."""
        variables = [v for v, _ in self.closure.fixed.values() if isinstance(v, Variable)]
        return not any(v.after for v in variables) and not writes(self.op, variables)

    def call(self) -> HostCall | HostFunction | None:
        """How TensorFlow runs the operator; None if it cannot."""
        try:
            operands = tuple(self.closure.operands)
        except NotYet:
            return None
        if not self.is_apart:
            return None
        pairs = [*zip(self.op.outputs, self.shapes(), strict=True)]
        types = [type_of(*each) if is_read(each[0]) else None for each in pairs]
        is_known = all(of or not is_read(t) for of, t in zip(types, self.op.outputs, strict=True))
        is_plain_call = not self.run.fixed and all(isinstance(each, Tensor) for each in operands)
        if any(types) and is_known and is_plain_call:
            return self.step(types)
        results = tuple(result_of(tensor, shape, self.device) for tensor, shape in pairs)
        return HostFunction(self.op.type, self.run, operands, results)

    def shapes(self) -> list[Shape]:
        """The shapes of the results."""
        if self.run.fixed:
            return [*map(static_shape, self.op.outputs)]
        return probed_shapes(self.run.region.graph_def(), self.closure.operands, self.op.outputs)

    def step(self, types: Sequence[TensorType | None]) -> HostCall:
        """The operator as a step of the graph; a file keeps it if it has no state."""
        run = self.run.giving([number for number, each in enumerate(types) if each is not None])
        stateful = run.is_stateful
        payload = None if stateful else run.region.graph_def().SerializeToString()
        operands = tuple(self.closure.operands)
        step = as_step(run if stateful else on_aliases(run.function))
        return HostCall(self.op.type, operands, tuple(types), step, payload, stateful)


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
        known_late(Var(f"{name}.{axis}", i32)) if size is None else size
        for axis, size in enumerate(known)
    )
    return Tensor(TensorType(hidet_dtype(tensor.dtype), sizes), device, name=name)


def static_shape(tensor: tf.Tensor) -> Shape:
    """The shape that TensorFlow knows."""
    return None if tensor.shape.rank is None else tuple(tensor.shape.as_list())


def as_step(run: Callable[..., Sequence[Any]]) -> HostStep:
    """What gives tensors of TensorFlow as a step of the plan."""
    return numpy_step(lambda *arrays: [*map(np.asarray, run(*arrays))])


def on_aliases(function: Any) -> Callable[..., Sequence[Any]]:
    """A function without state on arrays, which it reads where they lie."""
    return lambda *arrays: function(*map(lent, arrays))


def steps(host: Mapping[str, bytes]) -> Mapping[str, HostStep]:
    """The host steps of a file, from the regions that it keeps."""
    graph = tf.compat.v1.GraphDef.FromString
    return {key: as_step(on_aliases(function_of(graph(kept)))) for key, kept in host.items()}
