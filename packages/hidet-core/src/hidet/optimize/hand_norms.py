"""Norms between products lose their kernels: one product hands on moments, the next one norms."""

from __future__ import annotations

from hidet import ops, options
from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import rewrite
from hidet.graph.tensor import Node, Tensor
from hidet.ops.norm import LayerNorm
from hidet.optimize.norms_between import (
    Source,
    Suits,
    Taker,
    is_transposed,
    norms_between,
    unshaped,
)
from hidet.types import f32


def hand_norms(graph: FlowGraph, suits: Suits = lambda op, product: False) -> FlowGraph:
    """Spare norms between products a kernel of their own.

    before   h = linear(x, a) + r;  y = linear(layer_norm(h, weight), b)
    after    h, moments = linear_moments(x, a, r);  y = normed_linear(h, b * weight, moments)

    before   n = layer_norm(h, weight, bias);  u = linear(z, c) + n
    after    u, _ = linear_moments(z, c, h, bias, moments, weight)

    Normed rows that are a residual are normed where they are added, in float32. The new weights are
    computed once, before the first call, in float32, and rounded to their type; nobody else may
    read the old ones, which would stay beside them.
    """
    found = list(norms_between(graph, suits)) if options.fusion.get() else []
    sources = {source.result: source for each in found for source in each.sources}
    takers = {taker.result: (each, taker) for each in found for taker in each.takers}
    norms = {each.norm.outputs[0]: each for each in found}
    originals = iter(graph.nodes)
    now: dict[Tensor, Tensor] = {}
    made: dict[Tensor, tuple[Tensor, Tensor]] = {}

    def change(node: Node) -> tuple[Tensor, ...] | None:
        original = next(originals)
        result = original.outputs[0]
        now.update(zip(original.inputs, node.inputs, strict=True))
        with tracing(), placed(node.place):
            if result in sources:
                source = sources[result]
                x, weight = (now[each] for each in source.product.inputs[:2])
                before = norms.get(unshaped(source.residual))
                if before is None:
                    made[result] = moments_of(source, x, weight, now[source.residual])
                else:
                    near = made[before.source.result]
                    made[result] = moments_beside(source, x, weight, before.norm, *near)
                return (ops.reshape(made[result][0], result.shape),)
            if result in takers:
                each, taker = takers[result]
                return (normed(each.norm, taker, *made[each.source.result]),)
        return None

    return rewrite(graph, change)


def moments_of(
    source: Source, x: Tensor, weight: Tensor, residual: Tensor
) -> tuple[Tensor, Tensor]:
    """Rows, in the shape of the product that makes them, and their moments."""
    return ops.linear_moments(
        x,
        weight,
        ops.reshape(residual, source.product.outputs[0].shape),
        source.bias,
        transpose_b=is_transposed(source.product),
    )


def moments_beside(
    source: Source, x: Tensor, weight: Tensor, norm: Node, rows: Tensor, moments: Tensor
) -> tuple[Tensor, Tensor]:
    """The same beside a residual that is what a norm gives of other rows."""
    op, shape = norm.op, source.product.outputs[0].shape
    assert isinstance(op, LayerNorm)
    _, factor, shift = op.arrange(norm.inputs)
    summands = [ops.cast(each, f32) for each in (source.bias, shift) if each is not None]
    return ops.linear_moments(
        x,
        weight,
        ops.reshape(rows, shape),
        sum(summands[1:], summands[0]) if summands else None,
        ops.reshape(moments, (*shape[:-1], *moments.shape[-2:])),
        ops.full(shape[-1:], 1.0, rows.dtype) if factor is None else factor,
        transpose_b=is_transposed(source.product),
        eps=op.eps,
    )


def normed(norm: Node, reader: Taker, rows: Tensor, moments: Tensor) -> Tensor:
    """A product of normed rows, with the norm's factors in its weight and bias."""
    op = norm.op
    assert isinstance(op, LayerNorm)
    _, factor, shift = op.arrange(norm.inputs)
    x, weight = reader.product.inputs[:2]
    across = is_transposed(reader.product)
    along = 1 if across else 0

    def beside(vector: Tensor) -> Tensor:
        """A vector along k, to be multiplied with the weight."""
        return ops.cast(vector, f32) if across else ops.unsqueeze(ops.cast(vector, f32), 1)

    wide = ops.cast(weight, f32)
    scaled = weight
    if factor is not None:
        scaled = ops.cast(wide * beside(factor), weight.dtype)
    summands = [ops.cast(each, f32) for each in reader.biases]
    if shift is not None:
        summands.append(ops.sum(wide * beside(shift), [along]))
    bias = sum(summands[1:], summands[0]) if summands else None
    outer = x.shape[:-1]
    return ops.normed_linear(
        ops.reshape(rows, x.shape),
        scaled,
        ops.reshape(moments, (*outer, *moments.shape[-2:])),
        ops.sum(ops.cast(scaled, f32), [along]),
        bias,
        transpose_b=across,
        eps=op.eps,
    )
