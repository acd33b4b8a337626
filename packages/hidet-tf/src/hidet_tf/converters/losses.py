"""Losses of classifiers, with what their gradients take."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet_tf.converters.table import tf


@tf("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(scores: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """[n]: the cross entropy of [n, classes] scores to probabilities."""
    logarithms = ops.log_softmax(scores)
    loss = ops.negative(ops.sum(ops.multiply(labels, logarithms), -1))
    return loss, ops.subtract(ops.softmax(scores), labels)


@tf("SparseSoftmaxCrossEntropyWithLogits")
def sparse_cross_entropy(scores: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """The same, the labels being the numbers of classes."""
    index = ops.unsqueeze(labels, -1)
    loss = ops.negative(ops.squeeze(ops.gather(ops.log_softmax(scores), -1, index), -1))
    place = ops.iota(scores.shape[-1], dtype=labels.dtype, device=scores.device)
    one_hot = ops.cast(ops.equal(index, place), scores.dtype)
    return loss, ops.subtract(ops.softmax(scores), one_hot)
