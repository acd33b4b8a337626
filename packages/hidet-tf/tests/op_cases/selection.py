"""What conditions select."""

import tensorflow as tf

from op_cases.case import case, floats, truths, whole

X, Y = floats(5, 7), floats(5, 7, salt="y")
FEW = whole(13, low=0, high=5)
CASES = [
    case("SelectV2", tf.where, truths(5, 7), X, Y),
    case("SelectV2-broadcast", lambda c, x: tf.where(c, x, tf.cast(0.0, x.dtype)), truths(5, 1), X),
    case("Select-rows", lambda c, x, y: tf.raw_ops.Select(condition=c, x=x, y=y), truths(5), X, Y),
    case("Where", lambda c: tf.where(c), truths(5, 7)),
    case("boolean_mask", lambda x, c: tf.boolean_mask(x, c), X, truths(5), is_open=False),
    case("Unique", lambda x: tuple(tf.unique(x)), FEW),
    case("UniqueWithCounts", lambda x: tuple(tf.unique_with_counts(x, tf.int64)), FEW),
    case("DynamicPartition", lambda x, n: tf.dynamic_partition(x, n, 3), floats(13, 2),
         whole(13, low=0, high=3), is_open=False),
]  # fmt: skip
