"""Tensors out of nothing."""

import tensorflow as tf

from op_cases.case import case, floats, whole

raw = tf.raw_ops
X = floats(5, 7)
CASES = [
    case("ZerosLike", lambda x: tf.raw_ops.ZerosLike(x=x) + x, X),
    case("OnesLike", lambda x: tf.raw_ops.OnesLike(x=x) + x, X),
    case("Fill", lambda x: tf.fill((tf.shape(x)[0], 3), tf.cast(2.5, x.dtype)), X),
    case("Fill-of-data", lambda x: tf.fill((2, 3), x[0, 0]), X, is_open=False),
    case("Range", lambda x: tf.range(tf.shape(x)[0]), X),
    case("Range-steps", lambda x: tf.range(1.5, 7.0, 0.5) + x[0, 0], X, is_open=False, narrow=True),
    case("Range-told", lambda x: tf.range(2, 2 + x[0]), whole(1, low=3, high=4), is_open=False),
    case(
        "LinSpace",
        lambda x: tf.raw_ops.LinSpace(start=x[0, 0], stop=x[0, 1], num=7),
        X,
        is_open=False,
    ),
    case("linspace", lambda x: tf.linspace(x[0, 0], x[0, 1], 7), X, is_open=False),
    case("Bitcast", lambda x: tf.bitcast(x, tf.int32), X, narrow=True),
    case(
        "Cast",
        lambda x: (tf.cast(x, tf.int32), tf.cast(x, tf.bool), tf.cast(x, tf.float16)),
        X,
        narrow=True,
    ),
]
