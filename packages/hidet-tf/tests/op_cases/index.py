"""Lookups and writes at positions that are data."""

import numpy as np
import tensorflow as tf

from op_cases.case import case, floats, whole

raw = tf.raw_ops
X, ROWS = floats(5, 7, 3), whole(2, 4, low=0, high=5)
PAIRS = np.int32([[0, 1], [4, 6], [0, 1], [2, 2]])
APART = np.int32([[0, 1], [4, 6], [3, 0], [2, 2]])
UPDATES = floats(4, 3)

CASES = [
    case("GatherV2", lambda x, i: tf.gather(x, i), X, ROWS, is_open=False),
    case("GatherV2-axis", lambda x, i: tf.gather(x, i, axis=1), X, ROWS),
    case("GatherV2-batch", lambda x, i: tf.gather(x, i, axis=1, batch_dims=1), X,
         whole(5, 4, low=0, high=7)),
    case("GatherV2-batch-axis", lambda x, i: tf.gather(x, i, axis=2, batch_dims=1), X,
         whole(5, 4, low=0, high=3)),
    case("Gather", lambda x, i: raw.Gather(params=x, indices=i), X, ROWS, is_open=False),
    case("GatherNd", lambda x, i: tf.gather_nd(x, i), X, PAIRS, is_open=False),
    case("ScatterNd", lambda i, u: tf.scatter_nd(i, u, (5, 7, 3)), PAIRS, UPDATES, is_open=False),
    case("TensorScatterUpdate", lambda x, i, u: tf.tensor_scatter_nd_update(x, i, u), X, APART,
         UPDATES, is_open=False),
    *(case(f"TensorScatter-{f.__name__}", lambda x, i, u, f=f: f(x, i, u), X, PAIRS, UPDATES,
           is_open=False)
      for f in (tf.tensor_scatter_nd_add, tf.tensor_scatter_nd_sub, tf.tensor_scatter_nd_min,
                tf.tensor_scatter_nd_max)),
    case("OneHot", lambda i: tf.one_hot(i, 5), np.int32([[0, 4, -1], [5, 2, 2]])),
    case("OneHot-axis", lambda i: tf.one_hot(i, 5, 2, -1, axis=0, dtype=tf.int32),
         np.int64([[0, 4, -1], [5, 2, 2]])),
    case("InvertPermutation", lambda x: tf.math.invert_permutation(x), np.int32([3, 0, 2, 1])),
    case("UnravelIndex", lambda i: tf.unravel_index(i, (3, 5, 7)), whole(9, low=0, high=105)),
    case("DynamicStitch", lambda x, y: tf.dynamic_stitch([[0, 4, 2], [[3], [1]]], [x, y]),
         floats(3, 4), floats(2, 1, 4), is_open=False),
    case("DynamicStitch-told", lambda i, x: tf.dynamic_stitch([i], [x]), np.int32([2, 0, 1, 2]),
         floats(4, 3), is_open=False),
    case("ParallelDynamicStitch", lambda x, y: raw.ParallelDynamicStitch(
        indices=[[0, 2], [3, 1]], data=[x, y]), floats(2, 3), floats(2, 3), is_open=False),
    case("SparseToDense", lambda x: raw.SparseToDense(
        sparse_indices=[[0, 1], [3, 2]], output_shape=[4, 5], sparse_values=x,
        default_value=tf.cast(-1.0, x.dtype)), floats(2), is_open=False),
    case("SparseToDense-one", lambda x: raw.SparseToDense(
        sparse_indices=[1, 3], output_shape=[5], sparse_values=x,
        default_value=tf.cast(0.5, x.dtype)), np.float32(2), is_open=False),
]  # fmt: skip
