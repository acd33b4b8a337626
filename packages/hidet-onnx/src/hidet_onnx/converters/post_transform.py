"""What classifiers and regressors do to scores at their end, as ONNX Runtime does it."""

from __future__ import annotations

import math

from hidet import ops
from hidet.errors import BadArgument, NotYet
from hidet.graph import Tensor

KINDS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""By the numbers that newer operators have for them."""
ZERO = 1e-7
"""What SOFTMAX_ZERO takes for zero."""


def transformed(scores: Tensor, how: str) -> Tensor:
    """Scores [rows, classes] as they are, or as probabilities."""
    if how == "NONE":
        return scores
    if how == "LOGISTIC":
        return ops.sigmoid(scores)
    if how == "SOFTMAX":
        return ops.softmax(scores, -1)
    if how == "SOFTMAX_ZERO":
        highest = ops.max(scores, -1, keepdims=True)
        raised = ops.exp(ops.subtract(scores, highest))
        is_zero = ops.less_equal(ops.absolute(scores), ZERO)
        kept = ops.where(is_zero, ops.multiply(scores, ops.exp(ops.negative(highest))), raised)
        total = ops.sum(kept, -1, keepdims=True)
        return ops.where(ops.equal(total, 0.0), ops.full_like(kept, 0.5), ops.divide(kept, total))
    if how == "PROBIT":
        return probit(scores)
    raise BadArgument(f"there is no post transform {how!r}")


def probit(x: Tensor) -> Tensor:
    """The quantile of the normal distribution: sqrt(2) times the inverse error function of 2x - 1,
    which Winitzki's formula approximates."""
    signed = ops.subtract(ops.multiply(x, 2.0), 1.0)
    log = ops.log(ops.multiply(ops.subtract(1.0, signed), ops.add(signed, 1.0)))
    half = ops.add(ops.multiply(log, 0.5), 2.0 / (math.pi * 0.147))
    inside = ops.subtract(ops.multiply(half, half), ops.multiply(log, 1.0 / 0.147))
    root = ops.sqrt(ops.subtract(ops.sqrt(inside), half))
    return ops.multiply(ops.where(ops.less(signed, 0.0), ops.negative(root), root), math.sqrt(2.0))


def binary_scores(second: Tensor, how: str, is_share: bool) -> Tensor:
    """The scores of two classes of which the second one's [rows, 1] is known.

    It is a share of 1 if `is_share`, else the first one's is its negative.
    """
    if how == "PROBIT":
        raise NotYet("the post transform PROBIT of one score for two classes")
    if how == "LOGISTIC":
        first, second = ops.sigmoid(ops.negative(second)), ops.sigmoid(second)
    else:
        first = ops.subtract(1.0, second) if is_share else ops.negative(second)
    return ops.concat((first, second), 1)
