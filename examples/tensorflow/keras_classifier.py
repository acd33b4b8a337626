"""Compile a Keras model, call it, change its weights, and keep it in a file."""

import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

import hidet
import hidet_tf


def network() -> keras.Model:
    """A small classifier of images, as users write it."""
    inputs = keras.Input((32, 32, 3), name="image")
    x = keras.layers.Conv2D(8, 3, padding="same", activation="relu")(inputs)
    x = keras.layers.BatchNormalization()(x)
    x = keras.layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, keras.layers.Dense(4, activation="softmax")(x))


def main() -> None:
    """Compare with Keras for several batches, then load the file without TensorFlow."""
    model = network()
    fast = hidet_tf.compile(model)
    rng = np.random.default_rng(0)
    for batch in (1, 3):
        images = rng.standard_normal((batch, 32, 32, 3)).astype(np.float32)
        found = fast(images)
        assert isinstance(found, tf.Tensor)
        np.testing.assert_allclose(found, model(images), rtol=1e-4, atol=1e-5)
    print(fast.explain().splitlines()[0])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "classifier.hidet"
        fast.save(path)
        (again,) = hidet.load(path).run([images])
    np.testing.assert_array_equal(again.numpy(), found)


if __name__ == "__main__":
    main()
