"""The middle of attention: from scores to the weights of the values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from hidet.compute import Grid, accumulator, elementwise, grid, select
from hidet.compute.functions import exp
from hidet.compute.grid import spread
from hidet.compute.sizes import agree_shape, broadcast, spelled
from hidet.compute.steps import Step, stepped, stepped_arrays
from hidet.errors import ShapeMismatch
from hidet.graph import Op, Tensor, apply, operator
from hidet.ir.expr import Expr, wrap
from hidet.types import DType, TensorType, boolean, f16, f32, f64


def attention_weights(
    scores: Tensor,
    mask: Tensor | None,
    *,
    causal: bool,
    scale: float,
    dtype: DType,
    steps: tuple[Step, ...] = (),
) -> Tensor:
    """softmax(scores * scale + mask) over the last axis, as `dtype`; see `attention` for masks and
    `steps`."""
    return apply(
        AttentionWeights, scores, mask, causal=causal, scale=scale, dtype=dtype, steps=steps
    )


@operator("attention_weights")
class AttentionWeights(Op):
    """How much each row of v counts; a row of scores that keeps nothing gives zeros."""

    continuous: ClassVar[bool] = True

    scores: TensorType
    mask: TensorType | None
    causal: bool
    scale: float
    dtype: DType
    steps: tuple[Step, ...] = ()

    factor: ClassVar[float] = 64

    def infer(self) -> TensorType:
        if self.mask is not None:
            reached = broadcast(self.mask.shape, self.scores.shape)
            if not agree_shape(reached, self.scores.shape):
                raise ShapeMismatch(f"the mask {spelled(self.mask.shape)} does not fit the scores")
        return self.dtype[self.scores.shape]

    def define(self, scores: Grid, mask: Grid | None) -> Grid:
        wide, low = accumulator(scores.dtype), float("-inf")

        def kept(*index: Expr) -> Expr:
            value = stepped(scores[index].cast(wide) * self.scale, self.steps)
            if mask is not None:
                entry = wrap(spread(mask, index, self.scores.shape))
                added = not entry.dtype.is_bool
                value = value + entry.cast(wide) if added else select(entry, value, low)
            return select(index[-1] <= index[-2], value, low) if self.causal else value

        values = grid(self.scores.shape, kept)
        last = (values.ndim - 1,)
        shift = elementwise(lambda m: select(m.eq(low), 0.0, m), values.max(last))
        powers = exp(values - shift)
        weights = elementwise(
            lambda p, total: select(total.eq(0.0), 0.0, p / total), powers, powers.sum(last)
        )
        return weights.cast(self.dtype)

    def reference(self, scores: Any, mask: Any) -> Any:
        return weights_of(stepped_arrays(scores * self.scale, self.steps), mask, self.causal)

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(f32[2, 3, 7, 9], None, False, 0.3, f32)
        yield cls(f32[3, 9, 9], None, True, 0.25, f16)
        yield cls(f32[2, 2, 5, 6], boolean[2, 1, 5, 6], False, 0.5, f32)
        yield cls(f32[2, 5, 33], f16[5, 33], False, 0.5, f16)
        yield cls(f64[3, 5, 7], f64[5, 7], True, 0.5, f64)
        yield cls(f32[3, 5, 7], None, True, 0.5, f16, (("tanh", 0.0), ("multiply", 2.0)))


def weights_of(scores: Any, mask: Any, causal: bool) -> Any:
    """The softmax of an array of scores that were scaled; zeros where a row keeps nothing."""
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    powers = np.exp(scores - np.nan_to_num(scores.max(-1, keepdims=True), neginf=0.0))
    sums = powers.sum(-1, keepdims=True)
    return powers / np.where(sums == 0, 1, sums)
