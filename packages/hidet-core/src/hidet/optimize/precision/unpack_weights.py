"""Linear layers of packed weights where a target has no schedule that reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hidet import ops
from hidet.compute import accumulator
from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import Op
from hidet.graph.rewrite import rewrite
from hidet.graph.tensor import Node, Tensor
from hidet.ops.quantized.packed_linear import MIDDLE, PackedLinear
from hidet.types import i32


def unpack_weights(
    graph: FlowGraph, scheduled: Callable[[Op], bool] = lambda op: False
) -> FlowGraph:
    """Unpack weights before the first call where the target has no schedule for packed ones.

    before   y = packed_linear(x, packed, scale, zero, block=32)
    after    y = linear(x, (numbers(packed) - zero) * scale)
    """

    def change(node: Node) -> Sequence[Tensor] | None:
        if not isinstance(node.op, PackedLinear) or scheduled(node.op):
            return None
        with tracing(), placed(node.place):
            return (unpacked(node, node.op),)

    return rewrite(graph, change)


def unpacked(node: Node, op: PackedLinear) -> Tensor:
    """The linear layer of the weights that are packed."""
    x, packed, scale, zero_point, bias = op.arrange(node.inputs)
    n, k, blocks = op.sizes
    halves = ops.multiply(ops.iota(2, dtype=i32, device=x.device), 4)
    wide = ops.cast(ops.unsqueeze(packed, -1), i32)
    numbers = ops.bitwise_and(ops.shift_right(wide, halves), 15)
    each = ops.reshape(numbers, (n, blocks, op.block))
    zero = MIDDLE if zero_point is None else ops.unsqueeze(ops.cast(zero_point, i32), -1)
    real = accumulator(op.x.dtype)
    centred = ops.cast(ops.subtract(each, zero), real)
    weight = ops.multiply(centred, ops.unsqueeze(ops.cast(scale, real), -1))
    rows = ops.slice(ops.reshape(weight, (n, blocks * op.block)), 1, 0, k)
    return ops.linear(x, ops.cast(rows, x.dtype), None if bias is None else ops.cast(bias, x.dtype))
