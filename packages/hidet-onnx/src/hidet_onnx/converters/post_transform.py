"""What classifiers and regressors do to scores at their end."""

from __future__ import annotations

from hidet import ops
from hidet.errors import BadArgument, NotYet
from hidet.graph import Tensor


def transformed(scores: Tensor, how: str) -> Tensor:
    """Scores [rows, classes] as they are, or as probabilities."""
    if how == "NONE":
        return scores
    if how == "LOGISTIC":
        return ops.sigmoid(scores)
    if how == "SOFTMAX":
        return ops.softmax(scores, -1)
    if how == "SOFTMAX_ZERO":
        raised = ops.exp(ops.subtract(scores, ops.max(scores, -1, keepdims=True)))
        kept = ops.where(ops.equal(scores, 0.0), ops.zeros_like(scores), raised)
        return ops.divide(kept, ops.sum(kept, -1, keepdims=True))
    if how == "PROBIT":
        raise NotYet("the post transform PROBIT")
    raise BadArgument(f"there is no post transform {how!r}")


def binary_scores(second: Tensor, how: str) -> Tensor:
    """The scores of two classes, of which the second one's [rows, 1] is known."""
    first = ops.subtract(1.0, second) if how in ("NONE", "PROBIT") else ops.negative(second)
    return ops.concat((first, second), 1)
