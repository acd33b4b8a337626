"""Writes keras_*.onnx and keras_*.npz: small Keras models by tf2onnx, with what TensorFlow gives.

Needs tensorflow and tf2onnx, which no test does: `python make_keras.py` in this folder.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tensorflow as tf
import tf2onnx

L = tf.keras.layers
HERE = Path(__file__).parent
RANDOM = np.random.default_rng(1)
TOKENS, ROWS = 50, 3


def transformer() -> tf.keras.Model:
    """Attention over tokens, a layer with gelu by tanh, each beside a shortcut and normed."""
    tokens = L.Input((9,), dtype="int32")
    x = L.Embedding(TOKENS, 16)(tokens)
    x = L.LayerNormalization()(x + L.MultiHeadAttention(4, 4)(x, x))
    hidden = L.Dense(32, activation=lambda t: tf.keras.activations.gelu(t, approximate=True))(x)
    x = L.LayerNormalization()(x + L.Dense(16)(hidden))
    return tf.keras.Model(tokens, L.Dense(5)(x[:, 0]))


def recurrent() -> tf.keras.Model:
    """A bidirectional LSTM and a GRU, which tf2onnx writes as LSTM, Loop or GRU."""
    tokens = L.Input((9,), dtype="int32")
    x = L.Bidirectional(L.LSTM(8, return_sequences=True))(L.Embedding(TOKENS, 16)(tokens))
    return tf.keras.Model(tokens, L.Dense(5)(L.GRU(8)(x)))


def image() -> tf.keras.Model:
    """Convolutions of channels last, pooled and resized."""
    pixels = L.Input((16, 16, 3))
    x = L.BatchNormalization()(L.Conv2D(8, 3, padding="same", strides=2)(pixels))
    x = L.BatchNormalization()(L.DepthwiseConv2D(3, padding="same")(L.ReLU(6.0)(x)))
    x = L.Conv2D(8, 1)(L.Activation("swish")(x))
    wide = L.UpSampling2D(interpolation="bilinear")(L.AveragePooling2D(2)(x))
    x = L.GlobalAveragePooling2D()(L.Concatenate()([x, wide]))
    return tf.keras.Model(pixels, L.Dense(5, activation="softmax")(x))


def write(name: str, model: tf.keras.Model, x: np.ndarray) -> None:
    """The model with random weights, and its result for x."""
    for each in model.weights:
        if each.dtype == "float32":
            values = RANDOM.standard_normal(each.shape) * 0.2
            each.assign(np.abs(values) + 0.5 if "variance" in each.path else values)
    call = tf.function(lambda given: model(given, training=False))
    spec = tf.TensorSpec((None, *x.shape[1:]), x.dtype, name="x")
    made, _ = tf2onnx.convert.from_function(call, input_signature=[spec], opset=17)
    (HERE / f"keras_{name}.onnx").write_bytes(made.SerializeToString())
    np.savez(HERE / f"keras_{name}.npz", x=x, y=np.asarray(call(tf.constant(x))))


if __name__ == "__main__":
    text = RANDOM.integers(0, TOKENS, (ROWS, 9)).astype(np.int32)
    write("transformer", transformer(), text)
    write("recurrent", recurrent(), text)
    write("image", image(), RANDOM.standard_normal((ROWS, 16, 16, 3)).astype(np.float32))
