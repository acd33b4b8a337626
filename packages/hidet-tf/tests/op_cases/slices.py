"""Slices: every mask, steps, bounds that data tell."""

import numpy as np
import tensorflow as tf

from op_cases.case import case, floats

X = floats(5, 7, 3)
CASES = [
    case("masks", lambda x: x[tf.newaxis, ..., 2, 1:], X),
    case("StridedSlice-steps", lambda x: x[::2, 5:1:-2, -2:], X, is_open=False),
    case("StridedSlice-reversed", lambda x: x[:, ::-1], X),
    case("StridedSlice-new-axes", lambda x: x[:, tf.newaxis, 1, ..., tf.newaxis], X),
    case("StridedSlice-last", lambda x: (x[-1], x[..., -1]), X),
    case("StridedSlice-beyond", lambda x: x[:, 2:100], X),
    case("StridedSlice-told", lambda x, n: x[:, n[0] : n[1]], X, np.int32([1, 4]), is_open=False),
    case("StridedSlice-place", lambda x, n: x[:, n], X, np.int32(3)),
    case(
        "TensorStridedSliceUpdate",
        lambda x, y: tf.raw_ops.TensorStridedSliceUpdate(
            input=x, begin=[1, 5], end=[0, 1], strides=[1, -2], value=y, shrink_axis_mask=1
        ),
        X,
        floats(2, 3),
        is_open=False,
    ),
    case("Slice", lambda x: tf.slice(x, (1, 0, 1), (3, -1, 2)), X, is_open=False),
    case("Slice-from", lambda x, n: tf.slice(x, [0, n, 0], [-1, 2, 3]), X, np.int32(3)),
]
