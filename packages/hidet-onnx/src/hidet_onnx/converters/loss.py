"""Losses."""

from __future__ import annotations

from hidet import ops
from hidet.compute.sizes import product
from hidet.errors import BadArgument
from hidet.graph import Tensor
from hidet.types import i64
from hidet_onnx.converters.table import onnx


@onnx("NegativeLogLikelihoodLoss", since=12)
def negative_log_likelihood_loss(
    x: Tensor, target: Tensor, weight: Tensor | None = None, *,
    ignore_index: int | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus what x[n, class, ...] holds for each target's class, weighed, without those ignored."""
    classes = ops.cast(target, i64)
    counts = None if ignore_index is None else ops.not_equal(classes, ignore_index)
    safe = classes if counts is None else ops.where(counts, classes, 0)
    taken = ops.squeeze(ops.gather(x, 1, ops.unsqueeze(safe, 1)), 1)
    weights = None if weight is None else ops.take(weight, [safe])
    if counts is not None:
        zero = ops.cast(counts, x.dtype)
        weights = zero if weights is None else ops.multiply(weights, zero)
    loss = ops.negative(taken if weights is None else ops.multiply(taken, weights))
    if counts is not None:
        loss = ops.where(counts, loss, ops.zeros_like(loss))
    return summed_up(loss, weights, reduction)


def summed_up(loss: Tensor, weights: Tensor | None, reduction: str) -> Tensor:
    """All losses, their sum, or their mean by weight."""
    if reduction == "none":
        return loss
    if reduction not in ("sum", "mean"):
        raise BadArgument(f"there is no reduction {reduction!r}", help="use none, sum or mean")
    total = ops.sum(loss)
    if reduction == "sum":
        return total
    if weights is not None:
        return ops.divide(total, ops.sum(weights))
    count = ops.size_value(product(loss.shape), i64, device=loss.device)
    return ops.divide(total, ops.cast(count, loss.dtype))


@onnx("SoftmaxCrossEntropyLoss", since=12)
def softmax_cross_entropy_loss(
    scores: Tensor, labels: Tensor, weights: Tensor | None = None, *,
    ignore_index: int | None = None, reduction: str = "mean",
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The loss of scores that are no probabilities yet, and the logarithms of those."""
    logarithms = ops.log_softmax(scores, 1)
    loss = negative_log_likelihood_loss(
        logarithms, labels, weights, ignore_index=ignore_index, reduction=reduction
    )
    return loss, logarithms
