"""Losses."""

from __future__ import annotations

from typing import Any, get_args

from hidet import ops
from hidet.errors import BadArgument
from hidet.graph import Tensor
from hidet.ops.models.losses import Reduction
from hidet_onnx.converters.table import onnx


@onnx("NegativeLogLikelihoodLoss", since=12)
def negative_log_likelihood_loss(
    x: Tensor, target: Tensor, weight: Tensor | None = None, *,
    ignore_index: int | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus what x[n, class, ...] holds for each target's class, weighed, without those ignored."""
    return ops.negative_log_likelihood(
        x, target, weight, ignore_index=ignore_index, reduction=known(reduction)
    )


@onnx("SoftmaxCrossEntropyLoss", since=12)
def softmax_cross_entropy_loss(
    scores: Tensor, labels: Tensor, weights: Tensor | None = None, *,
    ignore_index: int | None = None, reduction: str = "mean",
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The loss of scores that are no probabilities yet, and the logarithms of those."""
    return ops.cross_entropy(
        scores, labels, weights, ignore_index=ignore_index, reduction=known(reduction)
    )


def known(reduction: str) -> Any:
    """A reduction, if there is one of that name."""
    if reduction not in get_args(Reduction):
        raise BadArgument(f"there is no reduction {reduction!r}", help="use none, sum or mean")
    return reduction
