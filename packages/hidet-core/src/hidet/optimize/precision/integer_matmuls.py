"""Matmuls and convolutions of dequantized operands, computed on the integers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hidet import ops
from hidet.compute.sizes import product, same
from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import Op
from hidet.graph.rewrite import rewrite
from hidet.graph.tensor import Node, Tensor
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.quantized import integer_matmul
from hidet.ops.quantized.quantize import Dequantize
from hidet.ops.windows.conv import Conv
from hidet.optimize.layout.channels_last import turned
from hidet.types import Size, f32, i8, i32, u8

LONGEST = 2**31 // (255 * 128)
"""How many products of bytes an int32 certainly holds the sum of."""


def integer_matmuls(
    graph: FlowGraph, faster: Callable[[Op, Op], bool] = lambda op, other: False
) -> FlowGraph:
    """Let matmuls and convolutions of dequantized operands multiply the integers themselves.

    before   y = conv(dequantize(x, s, zero), dequantize(w, t), bias)
    after    y = float(conv_integer(x, w, zero)) * (s * t) + bias

    What follows, up to the next `quantize`, stays as it is and is fused as to any other operator.
    Scales have to be the same along what is summed up. `faster` says whether the target computes
    the operator on integers at least as fast as the one on floats. Sums are exact, so results are
    nearer to the definition than those of floats.
    """

    def change(node: Node) -> Sequence[Tensor] | None:
        with tracing(), placed(node.place):
            found = on_integers(node, faster)
        return None if found is None else (found,)

    return rewrite(graph, change)


@dataclass(frozen=True)
class Quantized:
    """What an operand was dequantized from."""

    x: Tensor
    scale: Tensor
    zero: Tensor | None


def quantized(of: Tensor) -> Quantized | None:
    """The bytes that an operand was dequantized from."""
    if of.trace is None or not isinstance(of.trace[0].op, Dequantize):
        return None
    x, scale, zero = of.trace[0].op.arrange(of.trace[0].inputs)
    return Quantized(x, scale, zero) if x.dtype in (i8, u8) and of.dtype.is_float else None


def on_integers(node: Node, faster: Callable[[Op, Op], bool]) -> Tensor | None:
    """The result of a node computed on integers, if that is possible and as fast."""
    op = node.op
    if not isinstance(op, Conv | Linear | Matmul):
        return None
    left, right, *rest = op.arrange(node.inputs)
    a, b = quantized(left), quantized(right)
    if a is None or b is None:
        return None
    channels: tuple[Size, ...] = (-1,)
    if isinstance(op, Conv):
        total = convolved(op, a, b, faster)
        channels = (-1, *(1,) * (left.ndim - 2))
    else:
        total = multiplied(op, a, b, faster)
    if total is None:
        return None
    scale = ops.multiply(ops.cast(a.scale, f32), vector(ops.cast(b.scale, f32), channels))
    real = ops.multiply(ops.cast(total, f32), scale)
    for bias in rest:
        real = real if bias is None else ops.add(real, vector(ops.cast(bias, f32), channels))
    return ops.cast(real, node.outputs[0].dtype)


def convolved(
    op: Conv, x: Quantized, weight: Quantized, faster: Callable[[Op, Op], bool]
) -> Tensor | None:
    """The convolution of the integers: one scale for x, and one for each output channel."""
    if op.channels_last or x.scale.ndim or not is_along(weight.scale, 0, weight.x.ndim):
        return None
    # As it will be computed: `assign_layout` turns it.
    plain = replace(
        op, x=turned(x.x.type), weight=turned(weight.x.type.with_(dtype=i8)), bias=None,
        channels_last=True, dtype=i32,
    )  # fmt: skip
    if not is_short(product(op.weight.shape[1:])) or not faster(plain, op):
        return None
    zero = None if weight.zero is None else vector(weight.zero, (-1,))
    return integer_matmul.convolved(
        x.x, weight.x, x.zero, zero, op.padding, op.stride, op.dilation, op.groups
    )


def multiplied(
    op: Linear | Matmul, a: Quantized, b: Quantized, faster: Callable[[Op, Op], bool]
) -> Tensor | None:
    """The matmul of the integers: a scale for a or for each row, and one for b or each column."""
    along_k = isinstance(op, Linear) or op.transpose_b
    if b.x.ndim != 2 or (isinstance(op, Matmul) and op.transpose_a):
        return None
    if not is_along(b.scale, 0 if along_k else 1, 2) or not is_same_along_last(a.scale, a.x):
        return None
    plain = Matmul(a.x.type, b.x.type.with_(dtype=i8), False, along_k, i32)
    if not is_short(a.x.shape[-1]) or not faster(plain, op):
        return None
    zero = None if b.zero is None else vector(b.zero, (-1,))
    return integer_matmul.multiplied(a.x, b.x, a.zero, zero, bool(along_k))


def is_along(scale: Tensor, axis: int, rank: int) -> bool:
    """Whether a scale of a tensor of so many axes differs along one axis at most."""
    skipped = rank - scale.ndim
    return all(i + skipped == axis or same(size, 1) for i, size in enumerate(scale.shape))


def is_same_along_last(scale: Tensor, x: Tensor) -> bool:
    """Whether a scale of x is one number, or one for each row."""
    return not scale.ndim or (scale.ndim == x.ndim and same(scale.shape[-1], 1) is True)


def is_short(count: Size) -> bool:
    """Whether an int32 certainly holds the sum of so many products."""
    return isinstance(count, int) and count <= LONGEST


def vector(of: Tensor, shape: tuple[Size, ...]) -> Tensor:
    """A number as it is, or one for each channel in a shape that broadcasts."""
    return ops.reshape(of, shape) if of.ndim else of
