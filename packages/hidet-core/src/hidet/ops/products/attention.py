"""Scaled dot-product attention as one operator: its schedule decides what is kept in memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import Grid, accumulator, elementwise, grid, reduce, select
from hidet.compute.functions import exp
from hidet.compute.grid import spread
from hidet.compute.sizes import Shape, agree, agree_shape, broadcast, same, spelled
from hidet.compute.steps import Step, stepped, stepped_arrays
from hidet.errors import DtypeMismatch, ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr, wrap
from hidet.ops.products.attention_weights import weights_of
from hidet.types import TensorType, bf16, boolean, f16, f32


def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None,
    *, causal: bool = False, scale: float | None = None,
    steps: tuple[Step, ...] = (),
) -> Tensor:  # fmt: skip
    """softmax(q @ k^T * scale + mask) @ v for q[..., h, m, d], k[..., g, n, d], v[..., g, n, e].

    Each of the g heads of k and v serves h / g heads of q. `scale` is 1 / sqrt(d) by default. A
    bool mask keeps where it is true, another one is added; it broadcasts to [..., h, m, n].
    `causal` keeps column j of row i where j <= i. A row that keeps nothing gives zeros.
    Infinities and NaN in rows of v that are not kept may give NaN. `steps` are applied to the
    scores before the mask, in order: (("multiply", 0.02), ("tanh", 0), ("multiply", 50)).
    """
    factor = scale if scale is not None else 1 / math.sqrt(known(q.shape[-1]))
    return apply(Attention, q, k, v, mask, causal=causal, scale=factor, steps=steps)


CAPPED: tuple[Step, ...] = (("multiply", 0.5), ("tanh", 0.0), ("multiply", 2.0))
"""Scores between -2 and 2."""


def known(size: Any) -> int:
    """A size that must be a number."""
    if not isinstance(size, int):
        raise ShapeMismatch(f"the head size {size} is symbolic", help="give the scale")
    return size


@operator("attention")
class Attention(Op):
    """Rows of q weigh rows of v by the softmax of their products with rows of k."""

    continuous: ClassVar[bool] = True

    q: TensorType
    k: TensorType
    v: TensorType
    mask: TensorType | None
    causal: bool
    scale: float
    steps: tuple[Step, ...] = ()

    factor: ClassVar[float] = 64

    def infer(self) -> TensorType:
        q, k, v = self.q, self.k, self.v
        if not q.dtype.is_float or q.dtype is not k.dtype or q.dtype is not v.dtype:
            raise DtypeMismatch(f"attention of {q.dtype.name}, {k.dtype.name}, {v.dtype.name}")
        if q.ndim < 3 or q.ndim != k.ndim or q.ndim != v.ndim:
            raise ShapeMismatch("q, k and v must have as many axes, at least 3 (heads, rows, size)")
        fits = agree_shape(k.shape[:-1], v.shape[:-1]) and agree(q.shape[-1], k.shape[-1])
        if not fits or not agree_shape(q.shape[:-3], k.shape[:-3]):
            raise ShapeMismatch(
                f"q {spelled(q.shape)}, k {spelled(k.shape)} and v {spelled(v.shape)} do not fit"
            )
        if not same(wrap(q.shape[-3]) % k.shape[-3], 0) and not same(q.shape[-3], k.shape[-3]):
            raise ShapeMismatch(f"{q.shape[-3]} heads of q for {k.shape[-3]} of k")
        if self.mask is not None:
            reached = broadcast(self.mask.shape, self.scores())
            if not agree_shape(reached, self.scores()):
                raise ShapeMismatch(f"the mask {spelled(self.mask.shape)} does not fit the scores")
        return q.dtype[*q.shape[:-1], v.shape[-1]]

    def scores(self) -> Shape:
        """The shape of the scores: [..., h, m, n]."""
        return (*self.q.shape[:-1], self.k.shape[-2])

    def head(self, outer: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Batch and head of k and v for batch and head of q."""
        *batch, h = outer
        if same(self.q.shape[-3], self.k.shape[-3]):
            return outer
        return (*batch, h // (wrap(self.q.shape[-3]) // self.k.shape[-3]))

    def define(self, q: Grid, k: Grid, v: Grid, mask: Grid | None) -> Grid:
        wide = accumulator(q.dtype)
        low = float("-inf")

        def score(*index: Expr) -> Expr:
            *outer, i, j = index
            head = self.head(tuple(outer))
            products = reduce(
                q.shape[-1],
                lambda r: q[(*outer, i, r)].cast(wide) * k[(*head, j, r)].cast(wide),
                "sum",
            )
            value = stepped(products * self.scale, self.steps)
            if mask is not None:
                entry = wrap(spread(mask, index, self.scores()))
                kept = entry.dtype.is_bool
                value = select(entry, value, low) if kept else value + entry.cast(wide)
            return select(j <= i, value, low) if self.causal else value

        scores = grid(self.scores(), score, "scores")
        top = scores.max((scores.ndim - 1,))
        shift = elementwise(lambda m: select(m.eq(low), 0.0, m), top)
        weights = exp(scores - shift)
        total = weights.sum((scores.ndim - 1,))

        def element(*index: Expr) -> Expr:
            *outer, i, c = index
            head = self.head(tuple(outer))
            value = reduce(
                v.shape[-2], lambda r: weights[(*outer, i, r)] * v[(*head, r, c)].cast(wide), "sum"
            )
            sums = total[(*outer, i, 0)]
            return select(sums.eq(0.0), 0.0, value / sums).cast(q.dtype)

        return grid(self.infer().shape, element)

    def reference(self, q: Any, k: Any, v: Any, mask: Any) -> Any:
        times = q.shape[-3] // k.shape[-3]
        k, v = np.repeat(k, times, -3), np.repeat(v, times, -3)
        scores = np.einsum("...id,...jd->...ij", q, k) * self.scale
        weights = weights_of(stepped_arrays(scores, self.steps), mask, self.causal)
        return np.einsum("...ij,...jc->...ic", weights, v)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[2, 3, 7, 8], f32[2, 3, 9, 8], f32[2, 3, 9, 5], None, False, 0.3)
        yield cls(f16[1, 4, 9, 16], f16[1, 2, 9, 16], f16[1, 2, 9, 16], None, True, 0.25)
        yield cls(
            f32[2, 2, 5, 4], f32[2, 2, 6, 4], f32[2, 2, 6, 4], boolean[2, 1, 5, 6], False, 0.5
        )
        yield cls(bf16[2, 6, 4], bf16[2, 5, 4], bf16[2, 5, 4], bf16[6, 5], False, 0.5)
        yield cls(f16[1, 8, 1, 24], f16[1, 2, 133, 24], f16[1, 2, 133, 40], None, False, 0.2)
        yield cls(
            bf16[2, 4, 37, 33], bf16[2, 2, 67, 33], bf16[2, 2, 67, 8], bf16[4, 1, 67], True, 0.2
        )
        yield cls(
            f32[2, 4, 5, 4], f32[2, 2, 6, 4], f32[2, 2, 6, 4], boolean[5, 6], False, 0.5, CAPPED
        )
        yield cls(f16[4, 37, 32], f16[2, 37, 32], f16[2, 37, 32], None, True, 0.2, CAPPED)
        yield cls(f32[1, 2, 0, 4], f32[1, 2, 3, 4], f32[1, 2, 3, 4], None, False, 0.5)
