"""Reductions and running ones."""

import numpy as np
import tensorflow as tf

from op_cases.case import case, floats, positive, truths, whole

raw = tf.raw_ops
X = floats(5, 7, 3)
NAN = np.array([[1, np.nan, 3, 3], [np.nan, -1, -2, -2]], np.float32)
REDUCTIONS = {
    "Sum": tf.reduce_sum, "Mean": tf.reduce_mean, "Max": tf.reduce_max, "Min": tf.reduce_min,
    "Prod": tf.reduce_prod, "EuclideanNorm": tf.math.reduce_euclidean_norm,
}  # fmt: skip

CASES = [
    *(case(f"{name}-{axes}-{keep}", lambda x, f=f, axes=axes, keep=keep: f(x, axes, keep), X)
      for name, f in REDUCTIONS.items()
      for axes, keep in ((1, False), ((0, -1), True), (None, False), ((), False))),
    case("Mean-int32", lambda x: tf.reduce_mean(x, 1), np.int32([[-1, -2], [3, 4], [-5, 2]])),
    case("Mean-uint8", lambda x: tf.reduce_mean(x, 0), whole(3, 5, low=0, high=60, kind="uint8")),
    case("Sum-int32", lambda x: tf.reduce_sum(x, 1), whole(3, 5)),
    case("Max-nan", lambda x: tf.reduce_max(x, 1), NAN),
    case("Any", lambda x: tf.reduce_any(x, 1), truths(5, 3)),
    case("All", lambda x: tf.reduce_all(x), truths(5, 3)),
    *(case(f"{f.__name__}-{kind}", lambda x, f=f, kind=kind: f(x, 1, kind), NAN)
      for f in (tf.argmax, tf.argmin) for kind in (tf.int32, tf.int64)),
    case("ArgMax-ties", lambda x: tf.argmax(x, 0), whole(7, 5, low=0, high=3)),
    *(case(f"{f.__name__}-{out}-{back}", lambda x, f=f, out=out, back=back: f(x, 1, out, back),
           positive(5, 7))
      for f in (tf.cumsum, tf.math.cumprod) for out in (False, True) for back in (False, True)),
    case("Cumsum-int32", lambda x: tf.cumsum(x, -1), whole(3, 5)),
    *(case(f"CumulativeLogsumexp-{out}-{back}",
           lambda x, out=out, back=back: tf.math.cumulative_logsumexp(x, 1, out, back),
           floats(5, 7))
      for out in (False, True) for back in (False, True)),
    case("logsumexp", lambda x: tf.reduce_logsumexp(x, 1), floats(5, 7)),
    case("variance", lambda x: tf.math.reduce_variance(x, 1), floats(5, 7)),
    case("moments", lambda x: tf.nn.moments(x, [0, 1]), floats(5, 7, 3)),
]  # fmt: skip
