"""Elements in order of size."""

import numpy as np
import tensorflow as tf

from op_cases.case import case, floats, whole

raw = tf.raw_ops
ROWS = np.sort(floats(3, 9), 1)

CASES = [
    case("TopKV2", lambda x: tf.math.top_k(x, 3), floats(5, 7)),
    case("TopKV2-ties", lambda x: tf.math.top_k(x, 6), whole(5, 7, low=0, high=3)),
    case("sort", lambda x: (tf.sort(x, -1), tf.argsort(x, 0), tf.sort(x, 0, "DESCENDING")),
         floats(5, 7), is_open=False),
    case("LowerBound", lambda x, v: tf.searchsorted(x, v), ROWS, floats(3, 4)),
    case("UpperBound", lambda x, v: tf.searchsorted(x, v, "right", tf.int64), ROWS, floats(3, 4)),
    case("Bucketize", lambda x: raw.Bucketize(input=x, boundaries=[-1, 0, 0.5, 2]),
         np.float32([[-3, -1, 0, 0.25], [0.5, 1, 2, 9]])),
    case("InTopKV2", lambda x, t: raw.InTopKV2(predictions=x, targets=t, k=3), floats(7, 5),
         whole(7, low=0, high=5), narrow=True),
]  # fmt: skip
