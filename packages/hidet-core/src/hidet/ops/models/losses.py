"""Losses of classifiers: of log-probabilities, and of scores."""

from __future__ import annotations

from typing import Literal

from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import Tensor
from hidet.ops.elementwise.compare import equal
from hidet.ops.elementwise.select import where
from hidet.ops.indexing.index import embedding, gather
from hidet.ops.reductions.reduce import mean
from hidet.ops.reductions.reduce import sum as total
from hidet.ops.reductions.softmax import log_softmax
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import ones_like
from hidet.ops.tensors.shape import squeeze, unsqueeze
from hidet.types import i64

Reduction = Literal["none", "mean", "sum"]


def negative_log_likelihood(
    x: Tensor, target: Tensor, weight: Tensor | None = None, *,
    ignore_index: int | None = None, reduction: Reduction = "mean",
) -> Tensor:  # fmt: skip
    """-x[n, target[n, ...], ...] of the log-probabilities x[n, classes, ...], times weight[target].

    The integer `target`, [n, ...], is below `classes`, or is `ignore_index`, which counts nothing.
    "mean" is the sum over that of the weights. The result has the type of `x`, a float.
    Raises ShapeMismatch or BadArgument. Source: ONNX NegativeLogLikelihoodLoss-22.
    """
    if x.ndim < 2 or target.ndim != x.ndim - 1:
        raise ShapeMismatch(f"a loss of {x.type} for targets {target.type}")
    if reduction not in ("none", "mean", "sum"):
        raise BadArgument(f"there is no reduction {reduction!r}")
    wide = cast(target, i64)
    ignored = None if ignore_index is None else equal(wide, ignore_index)
    safe = wide if ignored is None else where(ignored, 0, wide)
    loss: Tensor = -squeeze(gather(x, 1, unsqueeze(safe, 1)), 1)
    scale = None if weight is None else embedding(weight, safe)
    if ignored is not None:
        scale = where(ignored, 0.0, ones_like(loss) if scale is None else scale)
        loss = where(ignored, 0.0, loss)
    loss = loss if scale is None else loss * scale
    if reduction == "none":
        return loss
    if reduction == "mean" and scale is None:
        return mean(loss)
    sums = total(loss)
    if reduction == "mean" and scale is not None:
        sums = sums / total(scale)
    return sums


def cross_entropy(
    x: Tensor, target: Tensor, weight: Tensor | None = None, *,
    ignore_index: int | None = None, reduction: Reduction = "mean",
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The negative log-likelihood of the scores x[n, classes, ...] after softmax, and its log.

    Source: ONNX SoftmaxCrossEntropyLoss-13.
    """
    logs = log_softmax(x, 1)
    loss = negative_log_likelihood(
        logs, target, weight, ignore_index=ignore_index, reduction=reduction
    )
    return loss, logs
