"""Pooling: windows, padding, formats."""

import itertools

import numpy as np
import tensorflow as tf

from op_cases.case import case, channels_first, floats

NAN = floats(1, 6, 6, 2)
NAN[0, ::3, 1::2] = np.nan

CASES = [
    *(case(f"{name}-{padding}-{window}-{step}",
           lambda x, f=f, padding=padding, window=window, step=step: f(x, window, step, padding),
           floats(2, 7, 8, 3))
      for (name, f), padding, (window, step) in itertools.product(
          (("MaxPool", tf.nn.max_pool2d), ("AvgPool", tf.nn.avg_pool2d)), ("SAME", "VALID"),
          ((3, 1), (3, 2), ((2, 3), (3, 2))))),
    case("MaxPool-explicit", lambda x: tf.nn.max_pool2d(
        x, 3, 2, [[0, 0], [1, 1], [0, 2], [0, 0]]), floats(2, 7, 8, 3)),
    case("MaxPool-nan", lambda x: tf.nn.max_pool2d(x, 3, 2, "SAME"), NAN, narrow=True),
    *(case(f"{name}-{padding}",
           lambda x, f=f, padding=padding: f(x, [3, 2, 3], [2, 1, 2], padding),
           floats(2, 5, 6, 4, 3), narrow=True)
      for (name, f), padding in itertools.product(
          (("MaxPool3D", tf.nn.max_pool3d), ("AvgPool3D", tf.nn.avg_pool3d)), ("SAME", "VALID"))),
    *(case(f"MaxPoolWithArgmax-{padding}-{batch}",
           lambda x, padding=padding, batch=batch: tf.nn.max_pool_with_argmax(
               x, 3, 2, padding, include_batch_in_index=batch), floats(2, 7, 8, 3))
      for padding, batch in itertools.product(("SAME", "VALID"), (False, True))),
    case("avg_pool1d", lambda x: tf.nn.avg_pool1d(x, 3, 2, "SAME"), floats(2, 7, 3)),
    *(channels_first(name, lambda x, form, f=f: f(x, 3, 2, "SAME", form), floats(2, 3, 7, 8))
      for name, f in (("MaxPool", tf.nn.max_pool2d), ("AvgPool", tf.nn.avg_pool2d))),
]  # fmt: skip
