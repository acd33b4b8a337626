"""Norms between products lose their kernels: one product hands on moments, the next one norms."""

from __future__ import annotations

from dataclasses import dataclass

from hidet import ops, options
from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import rewrite_from
from hidet.graph.tensor import Node, Tensor
from hidet.optimize.norms_between import (
    Between,
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

    before   h = linear(x, a) + r;  y = linear(layer_norm(h, gain), b)
    after    h, moments, scaled = linear_moments(x, a, r, gain)
             y = normed_linear(scaled, b, moments)

    before   n = layer_norm(h, gain, shift);  u = linear(z, c) + n
    after    u, _ = linear_moments(z, c, h, shift, moments, gain)

    Weights stay as they are; what a norm's gain and shift make of them for each column is summed up
    once, before the first call. Normed rows that are a residual are normed where they are added.
    """
    found = list(norms_between(graph, suits)) if options.fusion.get() else []
    norms = {each.norm.outputs[0]: each for each in found}
    behind = {each.source.result: each for each in found}
    sources = {source.result: source for each in found for source in each.sources}
    takers = {taker.result: (each, taker) for each in found for taker in each.takers}
    now: dict[Tensor, Tensor] = {}
    made: dict[Tensor, Made] = {}

    def change(original: Node, node: Node) -> tuple[Tensor, ...] | None:
        result = original.outputs[0]
        now.update(zip(original.inputs, node.inputs, strict=True))
        with tracing(), placed(node.place):
            if result in sources:
                source, after = sources[result], behind.get(result)
                x, weight = (now[each] for each in source.product.inputs[:2])
                gain = None if after is None else after.gain
                before = norms.get(unshaped(source.residual))
                if before is None:
                    rows = beside(source, x, weight, now[source.residual], gain)
                else:
                    near = made[before.source.result]
                    rows = beside_normed(source, x, weight, before, near, gain)
                made[result] = rows
                return (ops.reshape(rows.plain, result.shape),)
            if result in takers:
                each, taker = takers[result]
                return (normed(each, taker, made[each.source.result]),)
        return None

    return rewrite_from(graph, change)


@dataclass(frozen=True)
class Made:
    """Rows in the shape of the product that makes them, their moments, and rows times the gain of
    their norm."""

    plain: Tensor
    moments: Tensor
    scaled: Tensor


def made_of(plain: Tensor, moments: Tensor, scaled: Tensor | None = None) -> Made:
    """The same; a norm without a gain reads the rows themselves."""
    return Made(plain, moments, plain if scaled is None else scaled)


def beside(
    source: Source, x: Tensor, weight: Tensor, residual: Tensor, gain: Tensor | None
) -> Made:
    """Rows of a product and a residual."""
    near = ops.reshape(residual, source.product.outputs[0].shape)
    across = is_transposed(source.product)
    return made_of(*ops.linear_moments(x, weight, near, source.bias, gain=gain, transpose_b=across))


def beside_normed(
    source: Source, x: Tensor, weight: Tensor, before: Between, near: Made, gain: Tensor | None
) -> Made:
    """Rows of a product and what a norm gives of other rows."""
    shape = source.product.outputs[0].shape
    summands = [ops.cast(each, f32) for each in (source.bias, before.shift) if each is not None]
    ones = ops.full(shape[-1:], 1.0, near.plain.dtype)
    return made_of(
        *ops.linear_moments(
            x,
            weight,
            ops.reshape(near.plain, shape),
            sum(summands[1:], summands[0]) if summands else None,
            residual_moments=ops.reshape(near.moments, (*shape[:-1], *near.moments.shape[-2:])),
            residual_gain=ones if before.gain is None else before.gain,
            gain=gain,
            transpose_b=is_transposed(source.product),
            eps=before.eps,
        )
    )


def normed(between: Between, taker: Taker, rows: Made) -> Tensor:
    """A product of normed rows, with what their gain and shift make of the weight beside it."""
    x, weight = taker.product.inputs[:2]
    across = is_transposed(taker.product)
    along = 1 if across else 0
    wide = ops.cast(weight, f32)

    def summed(vector: Tensor | None) -> Tensor:
        """What a vector along k gives with the weight."""
        if vector is None:
            return ops.sum(wide, [along])
        aside = ops.cast(vector, f32)
        return ops.sum(wide * (aside if across else ops.unsqueeze(aside, 1)), [along])

    summands = [ops.cast(each, f32) for each in taker.biases]
    if between.shift is not None:
        summands.append(summed(between.shift))
    return ops.normed_linear(
        ops.reshape(rows.scaled, x.shape),
        weight,
        ops.reshape(rows.moments, (*x.shape[:-1], *rows.moments.shape[-2:])),
        summed(between.gain),
        sum(summands[1:], summands[0]) if summands else None,
        transpose_b=across,
        eps=between.eps,
    )
