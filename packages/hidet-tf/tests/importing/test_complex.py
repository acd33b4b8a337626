"""Complex numbers are pairs only where all that they go through is converted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

import hidet_tf
from hidet.frontend.importing.report import FallbackWarning

X = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)


@pytest.mark.parametrize(
    "run",
    [
        lambda x: tf.abs(tf.sin(tf.signal.rfft(x))),  # no converter takes this sine
        lambda x: tf.signal.rfft(x),  # a complex result
    ],
    ids=["between", "result"],
)
def test_the_rest_is_left_to_tensorflow(run: Callable[[tf.Tensor], tf.Tensor]) -> None:
    with pytest.warns(FallbackWarning, match="RFFT"):
        found = hidet_tf.compile(run, tf.TensorSpec(X.shape))(X)
    np.testing.assert_allclose(found, run(tf.constant(X)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "run",
    [
        lambda x: tf.signal.irfft(tf.signal.rfft(x) * tf.signal.rfft(x)),
        lambda x: tf.math.real(tf.signal.rfft(x) * (1 + 2j)),
    ],
    ids=["product", "constant"],
)
def test_all_of_it_is_compiled(run: Callable[[tf.Tensor], tf.Tensor]) -> None:
    found = hidet_tf.compile(run, tf.TensorSpec(X.shape), options={"fallback": "error"})(X)
    np.testing.assert_allclose(found, run(tf.constant(X)), rtol=1e-5, atol=1e-5)
