"""What scales and shifts the channels of a product goes into its weight and bias."""

from __future__ import annotations

from dataclasses import dataclass

from hidet import ops
from hidet.compute import accumulator
from hidet.graph.apply import apply, placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import rewrite_from
from hidet.graph.tensor import Node, Tensor
from hidet.ops.products.matmul import Linear
from hidet.ops.reductions.channel_norm import BatchNorm
from hidet.ops.windows.conv import Conv
from hidet.optimize.constants import Constants, Readers
from hidet.types import DType, Size, f16


def fold_scale(graph: FlowGraph) -> FlowGraph:
    """Fold batch norms, and factors and summands of channels, into convolutions and linear layers.

    before   y = batch_norm(conv(x, w), mean, var, gamma, beta)
    after    y = conv(x, w * s, beta - mean * s)  where s = gamma * rsqrt(var + eps)

    The new weights are computed once, before the first call, in the type of sums. A linear layer's
    weight is scaled by a batch norm only, as a factor costs less than a second copy of it, and so
    is one of float16, which a factor such as 1e-5 leaves few digits.
    """
    constants, readers = Constants(graph), Readers(graph)

    def change(original: Node, node: Node) -> tuple[Tensor, ...] | None:
        for place, tensor in enumerate(original.inputs):
            if readers.only(tensor) is original:
                folded = folded_into(node, place, constants)
                if folded is not None:
                    return (folded,)
        return None

    return rewrite_from(graph, change)


@dataclass(frozen=True)
class Affine:
    """A factor and a summand for each channel, in the type of sums; None changes nothing."""

    factor: Tensor | None = None
    summand: Tensor | None = None


def folded_into(node: Node, place: int, constants: Constants) -> Tensor | None:
    """The product behind operand `place` with the node's effect in its weights, if it has one."""
    product = node.inputs[place].trace
    if product is None or not isinstance(product[0].op, Conv | Linear):
        return None
    source = product[0]
    if not all(each in constants for each in source.inputs[1:]):
        return None
    if node.outputs[0].type != source.outputs[0].type:
        return None
    if source.outputs[0].dtype is not source.inputs[1].dtype:  # the weight would be rounded
        return None
    with tracing(), placed(source.place):
        effect = effect_of(node, place, constants)
        if effect is None or (effect.factor is not None and keeps_weight(source, node)):
            return None
        return weighted(source, effect)


def keeps_weight(source: Node, node: Node) -> bool:
    """Whether a factor is not worth another copy of the weight, or may be too small or too large
    for one in float16, where that of a batch norm, which brings channels to size one, is not."""
    if isinstance(node.op, BatchNorm):
        return False
    return isinstance(source.op, Linear) or source.outputs[0].dtype is f16


def effect_of(node: Node, place: int, constants: Constants) -> Affine | None:
    """What a node does to each channel of its operand `place`, if that is known before any call."""
    others = [each for position, each in enumerate(node.inputs) if position != place]
    if not all(each in constants for each in others):
        return None
    if isinstance(node.op, BatchNorm):
        return batch_norm(node) if place == 0 else None
    if node.op.name not in ("add", "multiply", "subtract") or len(others) != 1:
        return None
    result = node.outputs[0].type
    axis = channel_axis(node.inputs[place])
    vector = along_channels(others[0], result.shape, axis, accumulator(result.dtype))
    if vector is None:
        return None
    match node.op.name:
        case "multiply":
            return Affine(factor=vector)
        case "add":
            return Affine(summand=vector)
    return Affine(summand=ops.negative(vector)) if place == 0 else None


def channel_axis(made: Tensor) -> int:
    """Which axis of a product's result runs along the channels."""
    assert made.trace is not None
    return 1 if isinstance(made.trace[0].op, Conv) else made.ndim - 1


def batch_norm(node: Node) -> Affine | None:
    """A batch norm of a product's channels as factor and summand."""
    return Affine(*affine(node)) if channel_axis(node.inputs[0]) == 1 else None


def affine(node: Node) -> tuple[Tensor, Tensor]:
    """The factor and the summand of a batch norm for each channel, in the type of sums."""
    op = node.op
    assert isinstance(op, BatchNorm)
    _, mean, var, weight, bias = op.arrange(node.inputs)
    wide = accumulator(op.x.dtype)
    factor = ops.rsqrt(ops.cast(var, wide) + op.eps)
    factor = factor if weight is None else factor * ops.cast(weight, wide)
    summand = ops.negative(ops.cast(mean, wide) * factor)
    return factor, summand if bias is None else summand + ops.cast(bias, wide)


def along_channels(x: Tensor, shape: tuple[Size, ...], axis: int, wide: DType) -> Tensor | None:
    """A tensor that broadcasts to `shape` as a vector, if it changes along `axis` at most."""
    skipped = len(shape) - x.ndim
    for position, size in enumerate(x.shape):
        if size != 1 and position + skipped != axis:
            return None
    count = shape[axis]
    if not isinstance(count, int):
        return None
    return ops.expand(ops.reshape(ops.cast(x, wide), (-1,)), (count,))


def weighted(source: Node, effect: Affine) -> Tensor:
    """A product with an effect on its channels in its weight and bias."""
    x, weight, bias = source.op.arrange(source.inputs)
    wide = accumulator(source.outputs[0].dtype)
    kind = weight.dtype
    shift = None if bias is None else ops.cast(bias, wide)
    if effect.factor is not None:
        column = ops.reshape(effect.factor, (-1,) + (1,) * (weight.ndim - 1))
        weight = ops.cast(ops.cast(weight, wide) * column, kind)
        shift = None if shift is None else shift * effect.factor
    if effect.summand is not None:
        shift = effect.summand if shift is None else shift + effect.summand
    return apply(
        type(source.op),
        x,
        weight,
        None if shift is None else ops.cast(shift, kind),
        **source.op.attributes(),
    )
