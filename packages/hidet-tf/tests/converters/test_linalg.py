"""Matrices of many rows stay in TensorFlow, by name."""

import numpy as np
import pytest
import tensorflow as tf

import hidet_tf
from hidet.errors import UnsupportedOp


@pytest.mark.parametrize("rows", [65, None])
def test_many_rows_are_factored_by_tensorflow(rows: int | None) -> None:
    spec = tf.TensorSpec((rows, rows))
    with pytest.raises(UnsupportedOp, match="factors of matrices of more than 16 rows"):
        hidet_tf.compile(tf.linalg.cholesky, spec, options={"fallback": "error"})
    x = 2 * np.eye(65, dtype=np.float32)
    with pytest.warns(UserWarning, match="Cholesky"):
        compiled = hidet_tf.compile(lambda x: tf.linalg.cholesky(x) + 1.0, spec)
    np.testing.assert_allclose(compiled(x), np.sqrt(x) + 1, rtol=1e-6)
