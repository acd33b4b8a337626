"""Arguments that are sparse or ragged, of several sizes, compiled whole."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import hidet_tf

RANDOM = np.random.default_rng(0)
WHOLE = {"fallback": "error"}


@pytest.mark.parametrize("rows", [1, 7])
def test_a_sparse_matrix_is_multiplied_and_summed(rows: int) -> None:
    weight = RANDOM.standard_normal((13, 5), np.float32)

    def f(x: tf.SparseTensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.sparse.sparse_dense_matmul(x, weight), tf.sparse.reduce_sum(x, 1)

    fast = hidet_tf.compile(f, tf.SparseTensorSpec((None, 13), tf.float32), options=WHOLE)
    for share in (0.0, 0.3, 1.0):
        there = RANDOM.random((rows, 13)) < share
        dense = np.where(there, RANDOM.standard_normal((rows, 13)), 0).astype(np.float32)
        product, sums = fast(tf.sparse.from_dense(dense))
        wide = dense.astype(np.float64)
        np.testing.assert_allclose(product, wide @ weight.astype(np.float64), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(sums, wide.sum(1), rtol=1e-5, atol=1e-5)


def test_ragged_rows_become_dense() -> None:
    def f(x: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor]:
        return x.to_tensor(-1.0) * 2.0, tf.reduce_max(x.to_tensor(shape=(None, 3)), 1)

    fast = hidet_tf.compile(f, tf.RaggedTensorSpec((None, None), tf.float32), options=WHOLE)
    for rows in ([[1.0, 2.0], [], [3.0, 4.0, 5.0, 6.0]], [[7.0]], [[], []]):
        given = tf.ragged.constant(rows, tf.float32, ragged_rank=1)
        for found, wanted in zip(fast(given), f(given), strict=True):
            np.testing.assert_array_equal(found, wanted)
