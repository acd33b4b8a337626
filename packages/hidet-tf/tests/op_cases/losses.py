"""Losses of classifiers."""

import tensorflow as tf

from op_cases.case import case, floats, positive, whole

raw = tf.raw_ops
X = floats(7, 5)
CASES = [
    case("SoftmaxCrossEntropyWithLogits", lambda x, y: raw.SoftmaxCrossEntropyWithLogits(
        features=x, labels=y), X, positive(7, 5)),
    case("SparseSoftmaxCrossEntropyWithLogits",
         lambda x, y: raw.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=y), X,
         whole(7, low=0, high=5)),
]  # fmt: skip
