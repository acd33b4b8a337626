"""Small networks of keras.applications: compiled whole, and as exact as TensorFlow.

`python -m ci.keras_zoo` imports all of them.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

import hidet_tf

NETWORKS: dict[str, dict[str, Any]] = {
    "MobileNet": {"alpha": 0.25},
    "MobileNetV2": {"alpha": 0.35},
    "MobileNetV3Small": {"alpha": 0.75, "minimalistic": True},
    "EfficientNetB0": {},
    "ResNet50": {},
    "ConvNeXtTiny": {},
}
"""What is smaller than its default."""
FACTOR = 4
"""How much farther from float64 than TensorFlow's own float32 a result may be."""


def network(name: str, dtype: str) -> keras.Model:
    """An architecture for small images, in an element type."""
    keras.config.set_dtype_policy(dtype)
    try:
        return getattr(keras.applications, name)(
            weights=None, input_shape=(64, 64, 3), classes=10, classifier_activation=None,
            **NETWORKS[name],
        )  # fmt: skip
    finally:
        keras.config.set_dtype_policy("float32")


def settle(model: keras.Model, images: np.ndarray) -> None:
    """Give batch norms scales and shifts that differ, and the statistics of what they read.

    As they are made a network gives the same for any image.
    """
    draw = np.random.default_rng(0)
    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum = 0.0
            for each in layer.trainable_weights:
                center = 0.0 if each.path.endswith("beta") else 1.0
                each.assign(draw.uniform(center - 0.3, center + 0.3, each.shape))
    model(images, training=True)


@pytest.mark.parametrize("name", NETWORKS)
def test_as_exact_as_tensorflow(name: str) -> None:
    keras.utils.set_random_seed(0)
    model, exact = network(name, "float32"), network(name, "float64")
    many = np.random.default_rng(1).uniform(0, 255, (8, 64, 64, 3)).astype(np.float32)
    settle(model, many)
    exact.set_weights(model.get_weights())
    images = many[:2]
    expected = np.asarray(exact(images.astype(np.float64), training=False))
    theirs = np.abs(np.asarray(model(images, training=False)) - expected).max()
    compiled = hidet_tf.compile(model, options={"fallback": "error"})
    ours = np.abs(np.asarray(compiled(images)) - expected).max()
    assert np.ptp(expected[0] - expected[1]) > 100 * theirs, "images make no difference"
    assert ours <= FACTOR * theirs
