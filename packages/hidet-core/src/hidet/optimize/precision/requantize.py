"""What is quantized is computed in units of its scale, so that no element is divided by it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hidet import ops
from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import rewrite_from
from hidet.graph.tensor import Node, Tensor
from hidet.ops.quantized.quantize import Dequantize, Quantize
from hidet.optimize.constants import Constants, Readers
from hidet.optimize.normalize import value_of
from hidet.types import f32

DEEPEST = 16
"""How many operators one after the other are looked through."""
LEAST, MOST = 2.0**-30, 2.0**30
"""Scales by which constants between 2^-96 and 2^97 are divided and stay normal float32."""


def requantize(graph: FlowGraph) -> FlowGraph:
    """Divide the constants that a quantized value is made of by its scale, instead of the value.

    before   y = quantize(float(sums) * s + b + dequantize(x, r), t)
    after    y = quantize(float(sums) * (s / t) + (b / t) + dequantize(x, r / t), 1)

    The new constants are computed once, before the first call. An element is rounded once less than
    before. The scale has to be one known number; whatever else is added has to be a constant times
    something, as everything is that comes from quantized operands.
    """
    constants, readers = Constants(graph), Readers(graph)

    def change(original: Node, node: Node) -> Sequence[Tensor] | None:
        if not isinstance(node.op, Quantize):
            return None
        x, scale, zero = node.op.arrange(node.inputs)
        by = value_of(scale) if scale.dtype is f32 and x.dtype is f32 else None
        if by is None or by == 1 or not LEAST <= by <= MOST:
            return None
        with tracing(), placed(node.place):
            divided = Division(constants, readers, by).of(original.inputs[0], x)
            if divided is None:
                return None
            return (ops.quantize(divided, ops.ones_like(scale), zero, dtype=node.op.dtype),)

    return rewrite_from(graph, change)


class Division:
    """Tensors divided by a scale, by dividing the constants that they are products of."""

    def __init__(self, constants: Constants, readers: Readers, scale: float) -> None:
        self.constants, self.readers, self.scale = constants, readers, scale

    def of(self, original: Tensor, x: Tensor, depth: int = 0) -> Tensor | None:
        """x divided; None if its elements would have to be. `original` is what it was before other
        nodes changed: its readers are known."""
        if x in self.constants:
            return self.of_constant(x)
        if x.trace is None or original.trace is None or depth > DEEPEST or x.dtype is not f32:
            return None
        if isinstance(x.trace[0].op, Dequantize):
            bytes_, unit, zero = x.trace[0].op.arrange(x.trace[0].inputs)
            divided = self.of(unit, unit) if unit.dtype is f32 else None
            return None if divided is None else ops.dequantize(bytes_, divided, zero, dtype=f32)
        if self.readers.only(original) is None:
            return None
        return self.of_result(original.trace[0], x.trace[0], depth + 1)

    def of_constant(self, x: Tensor) -> Tensor:
        """A constant, divided: a number stays one that others can look at."""
        value = value_of(x)
        if value is None or x.dtype is not f32:
            return ops.divide(ops.cast(x, f32), self.scale)
        return ops.full_like(x, float(np.float32(value) / np.float32(self.scale)))

    def of_result(self, original: Node, node: Node, depth: int) -> Tensor | None:
        """What a node gives, divided."""
        pairs = list(zip(original.inputs, node.inputs, strict=True))
        match node.op.name:
            case "add" | "subtract" as name:
                left, right = (self.of(*pair, depth) for pair in pairs)
                if left is None or right is None:
                    return None
                return ops.add(left, right) if name == "add" else ops.subtract(left, right)
            case "relu":
                (inner,) = (self.of(*pair, depth) for pair in pairs)
                return None if inner is None else ops.relu(inner)
            case "multiply" if node.inputs[0] is not node.inputs[1]:
                for (mine, factor), (_, other) in (pairs, pairs[::-1]):
                    divided = self.of(mine, factor, depth)
                    if divided is not None:
                        return ops.multiply(divided, other)
        return None
