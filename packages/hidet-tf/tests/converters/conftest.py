"""What tests of converters share."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import hidet_tf

Check = Callable[..., Any]


@pytest.fixture(params=["cpu", "sim"])
def check(request: pytest.FixtureRequest) -> Check:
    """Compile a function and compare what it gives with itself in float64; the compiled one.

    Nothing may be left to TensorFlow. `specs` are those to compile for, by default the arguments'.
    """
    options = {"fallback": "error", "target": "sim" if request.param == "sim" else ""}

    def run(function: Callable[..., Any], *given: Any, specs: Any = None) -> Any:
        arrays = [np.asarray(each) for each in given]
        specs = specs or [tf.TensorSpec(each.shape, each.dtype) for each in arrays]
        compiled = hidet_tf.compile(tf.function(function), *specs, options=options)
        found = tf.nest.flatten(compiled(*arrays))
        wide = [each.astype(np.float64) if each.dtype == np.float32 else each for each in arrays]
        meant = tf.nest.flatten(tf.function(function)(*map(tf.constant, wide)))
        for one, other in zip(found, meant, strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=2e-6, atol=2e-6)
        return compiled

    return run
