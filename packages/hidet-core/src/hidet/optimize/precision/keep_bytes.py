"""Bytes that are dequantized only to be compared, and then quantized as they were, stay bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hidet import ops
from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import rewrite
from hidet.graph.tensor import Node, Tensor
from hidet.ops.quantized.quantize import Quantize
from hidet.ops.windows.pool import MaxPool
from hidet.optimize.normalize import value_of
from hidet.optimize.precision.integer_matmuls import Quantized, quantized
from hidet.types import f32

LEAST, MOST = 2.0**-100, 2.0**100
"""Scales with which no product of a byte leaves the normal numbers of float32."""


def keep_bytes(graph: FlowGraph) -> FlowGraph:
    """Compare bytes instead of what they are dequantized to, and leave out a way there and back.

    before   y = quantize(max_pool(dequantize(x, s, zero)), s, zero)
    after    y = max_pool(x)

    The scale has to be one known number above 0: dequantizing then changes no order, and
    quantizing finds the byte again, as both round by less than half a step.
    """

    def change(node: Node) -> Sequence[Tensor] | None:
        with tracing(), placed(node.place):
            found = pooled(node) if isinstance(node.op, MaxPool) else quantized_again(node)
        return None if found is None else (found,)

    return rewrite(graph, change)


def known_bytes(of: Tensor) -> Quantized | None:
    """The bytes that a float32 was dequantized from by one known scale."""
    found = quantized(of) if of.dtype is f32 else None
    if found is None or found.scale.ndim or found.scale.dtype is not f32:
        return None
    scale = value_of(found.scale)
    return found if scale is not None and LEAST <= scale <= MOST else None


def pooled(node: Node) -> Tensor | None:
    """The largest bytes, dequantized. A window that is not dilated has an element that is none of
    the padding, which may not be a byte's."""
    op = node.op
    source = known_bytes(node.inputs[0]) if isinstance(op, MaxPool) else None
    if source is None or not isinstance(op, MaxPool) or set(op.dilation) != {1}:
        return None
    if source.zero is not None and source.zero.ndim:
        return None
    largest = Node(replace(op, x=source.x.type), (source.x,), node.place, node.device).outputs[0]
    return ops.dequantize(largest, source.scale, source.zero, dtype=f32)


def quantized_again(node: Node) -> Tensor | None:
    """The bytes themselves, where the same scale and zero point make bytes of them again."""
    if not isinstance(node.op, Quantize):
        return None
    x, scale, zero = node.op.arrange(node.inputs)
    source = known_bytes(x)
    if source is None or source.x.type != node.outputs[0].type or scale.dtype is not f32:
        return None
    points = number(zero), number(source.zero)
    alike = value_of(scale) == value_of(source.scale) and points[0] == points[1]
    return source.x if alike and None not in points else None


def number(zero: Tensor | None) -> float | int | None:
    """A zero point that is one known number; None for one that is not."""
    return 0 if zero is None else value_of(zero)
