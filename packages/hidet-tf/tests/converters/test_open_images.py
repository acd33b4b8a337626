"""Images of any size: padding that depends on the call."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

import hidet_tf
from hidet.graph import evaluate
from hidet.testing.compare import assert_close
from hidet.types import f32
from hidet_tf.importing.imported import import_function

TAPS = np.random.default_rng(0).standard_normal((3, 3, 4, 4)).astype(np.float32)
SIZES = ((7, 8), (8, 7), (1, 2), (9, 13))


def residual(x: tf.Tensor) -> tf.Tensor:
    """Two ways to half the size, which meet again."""
    y = tf.nn.conv2d(x, TAPS, 2, "SAME")
    return tf.nn.relu(y) + tf.nn.conv2d(x, TAPS[:1, :1], 2, "SAME")


RUNS: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    "conv": lambda x: tf.nn.conv2d(x, TAPS, 2, "SAME"),
    "conv_plain": lambda x: tf.nn.conv2d(x, TAPS, 1, "SAME"),
    "depthwise": lambda x: tf.nn.depthwise_conv2d(x, TAPS[..., :2], [1, 2, 2, 1], "SAME"),
    "max_pool": lambda x: tf.nn.max_pool2d(x, 3, 2, "SAME"),
    "avg_pool": lambda x: tf.nn.avg_pool2d(x, 3, 2, "SAME"),
    "transpose": lambda x: tf.nn.conv2d_transpose(
        x, TAPS, tf.shape(x) * tf.constant([1, 2, 2, 1]), 2, "SAME"
    ),
    "resize": lambda x: tf.image.resize(x, (5, 6)),
    "residual": residual,
}


def image(size: tuple[int, int]) -> np.ndarray:
    """Two images of a size."""
    return np.random.default_rng(sum(size)).standard_normal((2, *size, 4)).astype(np.float32)


@pytest.mark.parametrize("name", RUNS)
def test_every_size_is_padded_as_tensorflow_pads_it(name: str) -> None:
    run = RUNS[name]
    spec = tf.TensorSpec((None, None, None, 4))
    imported = import_function(tf.function(run).get_concrete_function(spec), "cpu")
    for size in SIZES:
        found = evaluate(imported.graph, image(size))[imported.outputs[0]]
        expected = run(tf.constant(image(size))).numpy()
        assert found.shape == expected.shape
        assert_close(found, expected, f32, 64)


def test_compiled_once_for_all_sizes() -> None:
    spec = tf.TensorSpec((None, None, None, 4))
    compiled = hidet_tf.compile(residual, spec, options={"fallback": "error"})
    for size in SIZES:
        assert_close(np.asarray(compiled(image(size))), residual(image(size)).numpy(), f32, 64)
