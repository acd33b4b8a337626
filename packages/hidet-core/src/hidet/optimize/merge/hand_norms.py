"""Norms between products lose their kernels: one product hands on moments, the next one norms."""

from __future__ import annotations

from dataclasses import dataclass

from hidet import ops, options
from hidet.graph.apply import placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import rewrite_from
from hidet.graph.tensor import Node, Tensor
from hidet.optimize.merge.norms_between import (
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
    after    h, moments = linear_moments(x, a, r);  y = normed_linear(h, b * gain, moments)

    before   n = layer_norm(h, gain, shift);  y = linear(n, b);  u = linear(z, c) + n
    after    h, moments, scaled = linear_moments(x, a, r, gain)
             y = normed_linear(scaled, b, moments)
             u, _ = linear_moments(z, c, h, shift, moments, gain)

    New weights are computed once, before the first call, in float32, and rounded to their type: the
    same error in all rows. Where normed rows are a residual too, it would add up from layer to
    layer, and where somebody else reads a weight, a copy would lie beside it: rows are written
    times the gain there. Normed rows that are a residual are normed where they are added.
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
                gain = after.gain if after is not None and after.scaled else None
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
    """Rows in the shape of the product that makes them, their moments, and what the products
    behind their norm read."""

    plain: Tensor
    moments: Tensor
    read: Tensor


def made_of(plain: Tensor, moments: Tensor, scaled: Tensor | None = None) -> Made:
    """The same; where rows are not written times a gain, products read the rows themselves."""
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

    def times(vector: Tensor | None) -> Tensor:
        """The weight times a vector along k, in float32."""
        wide = ops.cast(weight, f32)
        if vector is None:
            return wide
        aside = ops.cast(vector, f32)
        found: Tensor = wide * (aside if across else ops.unsqueeze(aside, 1))
        return found

    stretched = times(between.gain)
    summands = [ops.cast(each, f32) for each in taker.biases]
    if between.shift is not None:
        summands.append(ops.sum(times(between.shift), [along]))
    if not between.scaled and between.gain is not None:
        # Sums are those of weights as they are multiplied: of rounded ones.
        weight = ops.cast(stretched, weight.dtype)
        stretched = ops.cast(weight, f32)
    return ops.normed_linear(
        ops.reshape(rows.read, x.shape),
        weight,
        ops.reshape(rows.moments, (*x.shape[:-1], *rows.moments.shape[-2:])),
        ops.sum(stretched, [along]),
        sum(summands[1:], summands[0]) if summands else None,
        transpose_b=across,
        eps=between.eps,
    )
