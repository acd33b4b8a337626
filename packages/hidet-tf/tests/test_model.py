"""Models compiled and called as the originals are."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import hidet_tf


def dense(units: int = 3) -> keras.Model:
    """A layer with weights of no symmetry."""
    keras.utils.set_random_seed(0)
    inputs = keras.Input((5,), name="x")
    return keras.Model(inputs, keras.layers.Dense(units, "tanh", bias_initializer="normal")(inputs))


@pytest.mark.parametrize("rows", [1, 2, 7, 129])
def test_a_keras_model_of_any_batch(rows: int) -> None:
    model = dense()
    x = np.random.default_rng(0).standard_normal((rows, 5)).astype(np.float32)
    kernel, bias = (np.asarray(each, np.float64) for each in model.get_weights())
    found = hidet_tf.compile(model)(x)
    assert isinstance(found, tf.Tensor)
    np.testing.assert_allclose(found, np.tanh(x @ kernel + bias), rtol=1e-5, atol=1e-6)


def test_a_function_of_specs() -> None:
    @tf.function
    def f(x: tf.Tensor, y: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"a": tf.exp(x) + y, "b": (x * y,)}

    spec = tf.TensorSpec((None, 3))
    compiled = hidet_tf.compile(f, spec, spec)
    x, y = np.random.default_rng(0).standard_normal((2, 7, 3)).astype(np.float32)
    found = compiled(tf.constant(x), y)
    assert found.keys() == {"a", "b"}
    np.testing.assert_allclose(found["a"], np.exp(x.astype(np.float64)) + y, rtol=1e-6)
    np.testing.assert_allclose(found["b"][0], x.astype(np.float64) * y, rtol=1e-6)
