"""Computing float32 graphs in a half-precision type, where the option `precision` asks for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

from hidet import options
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import Op, operand_names
from hidet.graph.rewrite import reading
from hidet.graph.tensor import Node, Tensor
from hidet.ops.tensors.cast import Cast
from hidet.ops.tensors.create import Full
from hidet.types import DType, TensorType, dtype, f32

PRODUCTS = frozenset({"matmul", "linear", "conv", "attention"})
"""These gain: their operands are rounded wherever they come from."""

NORMS = frozenset({"layer_norm", "rms_norm", "group_norm", "batch_norm"})
ROUNDED = dict.fromkeys(NORMS, 1) | {"attention": 3}
"""How many operands are rounded, where that is not all: gains, moments and masks stay as they are.
"""

MOVING = """
    reshape permute expand slice concat tile pad roll as_strided gather take triangle where
"""
ELEMENTWISE = """
    add subtract multiply divide maximum minimum fmax fmin negative absolute sign clamp relu relu6
    leaky_relu hardtanh hardsigmoid hardswish elu selu gelu silu sigmoid tanh mish softsign erf
    prelu glu threshold shrink
"""
SUMMING_INSIDE = "softmax max min mean max_pool avg_pool adaptive_avg_pool adaptive_max_pool"
AS_OPERANDS = NORMS.union(*map(str.split, (MOVING, ELEMENTWISE, SUMMING_INSIDE)))
"""These are computed in half precision where one of their operands already is."""


def lower_precision(graph: FlowGraph) -> FlowGraph:
    """Round operands of float32 products to half precision, and what follows with them.

    before   y = exp(relu(matmul(x, w)))                          all in float32
    after    h = relu(matmul(cast(x, f16), cast(w, f16)));  y = exp(cast(h, f32))

    Whatever is in neither list above (exponentials, logarithms, powers, sums, moments, comparisons,
    updates in place, what the framework runs) is computed in float32. Results keep their types.
    Without the option `precision` nothing changes.
    """
    asked = options.precision.get()
    return Lowering(dtype(asked)).graph(graph) if asked else graph


@dataclass
class Lowering:
    """One graph on its way; `now` holds what became of its tensors, `made` casts to share."""

    narrow: DType
    now: dict[Tensor, Tensor] = field(default_factory=dict)
    made: dict[tuple[Tensor, DType], Tensor] = field(default_factory=dict)

    def graph(self, graph: FlowGraph) -> FlowGraph:
        """The whole graph."""
        for node in graph.nodes:
            lowered = self.lowered(node) if self.is_narrow(node) else self.kept(node)
            self.now.update(zip(node.outputs, lowered.outputs, strict=True))
        outputs = [self.as_type(each, each.dtype) for each in graph.outputs]
        return graph.with_outputs(outputs)

    def is_narrow(self, node: Node) -> bool:
        """Whether a node is computed in half precision."""
        name, single = node.op.name, [each for each in node.inputs if each.dtype is f32]
        if not single or any(of.dtype is not f32 for of in node.op.results() if of.dtype.is_float):
            return False
        if name in PRODUCTS:
            return all(each.dtype is f32 or not each.dtype.is_float for each in node.inputs)
        if name not in AS_OPERANDS:
            return False
        watched = node.inputs[: ROUNDED.get(name)]
        return any(self.now.get(each, each).dtype is self.narrow for each in watched)

    def lowered(self, node: Node) -> Node:
        """The node on rounded operands."""
        rounded = ROUNDED.get(node.op.name, len(node.inputs))
        inputs = tuple(
            self.as_type(each, self.narrow if each.dtype is f32 and at < rounded else each.dtype)
            for at, each in enumerate(node.inputs)
        )
        return Node(retyped(node.op, inputs, self.narrow), inputs, node.place, node.device)

    def kept(self, node: Node) -> Node:
        """The node on operands of the types that it had."""
        return reading(node, tuple(self.as_type(each, each.dtype) for each in node.inputs))

    def as_type(self, old: Tensor, to: DType) -> Tensor:
        """What became of a tensor, as elements of a type; cast once for all who ask."""
        tensor = self.now.get(old, old)
        if tensor.dtype is to:
            return tensor
        if (tensor, to) not in self.made:
            self.made[tensor, to] = cast(tensor, to)
        return self.made[tensor, to]


def cast(tensor: Tensor, to: DType) -> Tensor:
    """The tensor as elements of a type; a number is written in it, at most its largest one."""
    node = tensor.trace[0] if tensor.trace is not None and tensor.storage is None else None
    place = node.place if node is not None else None
    if node is not None and isinstance(node.op, Full):
        number = Full(node.op.shape, within(node.op.value, to), to)
        return Node(number, (), place, tensor.device).outputs[0]
    return Node(Cast(tensor.type, to), (tensor,), place, tensor.device).outputs[0]


def within(value: Any, of: DType) -> Any:
    """A finite number stays finite in a smaller type: masks are often the most negative one."""
    low, high = of.limits
    return max(low, min(high, value)) if isfinite(value) else value


def retyped(op: Op, inputs: Iterable[Tensor], narrow: DType) -> Op:
    """The operator for operands of these types, with a result in half precision if it says one."""
    operands = op.arrange([each.type for each in inputs])
    changes: dict[str, TensorType | DType | Any] = dict(
        zip(operand_names(op.operator_class()), operands, strict=True)
    )
    attributes: Mapping[str, Any] = op.attributes()
    if attributes.get("dtype") is f32:
        changes["dtype"] = narrow
    return replace(op, **changes)
