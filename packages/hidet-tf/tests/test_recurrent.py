"""Keras' recurrent layers, whose turns TensorFlow runs as a While with TensorLists."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

import hidet_tf

L = keras.layers
RNG = np.random.default_rng(0)


def random(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def build(*layers: Callable[[str], Any], shape: tuple[int | None, ...], kind: str) -> keras.Model:
    """A network of layers of a type; their weights are drawn as others of the same seed are."""
    inputs = keras.Input(shape, dtype=kind)
    x = inputs
    for layer in layers:
        x = layer(kind)(x)
    return keras.Model(inputs, x)


def check(
    *layers: Callable[[str], Any], x: np.ndarray, known: bool = True, target: str = ""
) -> Any:
    """Compile a network, and compare it with itself in float64; nothing is left to TensorFlow."""
    shape = x.shape[1:] if known else (None, *x.shape[2:])
    model, wide = (build(*layers, shape=shape, kind=kind) for kind in ("float32", "float64"))
    for each in model.weights:
        each.assign(RNG.standard_normal(each.shape) * 0.5)
    wide.set_weights([each.astype(np.float64) for each in model.get_weights()])
    options = {"fallback": "error", "target": target}
    compiled = hidet_tf.compile(model, options=options)
    meant = wide(x.astype(np.float64), training=False)
    np.testing.assert_allclose(compiled(x), meant, rtol=1e-5, atol=2e-6)
    return compiled


KINDS = {
    "lstm": lambda kind: L.LSTM(5, dtype=kind),
    "lstm-rows": lambda kind: L.LSTM(5, return_sequences=True, dtype=kind),
    "lstm-backwards": lambda kind: L.LSTM(5, go_backwards=True, dtype=kind),
    "gru": lambda kind: L.GRU(5, dtype=kind),
    "gru-rows": lambda kind: L.GRU(5, return_sequences=True, dtype=kind),
    "gru-reset-before": lambda kind: L.GRU(5, reset_after=False, dtype=kind),
    "simple": lambda kind: L.SimpleRNN(5, return_sequences=True, dtype=kind),
    "both-ways": lambda kind: L.Bidirectional(L.LSTM(5, return_sequences=True, dtype=kind)),
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("known", [True, False], ids=["length-known", "length-open"])
def test_a_layer(name: str, known: bool) -> None:
    compiled = check(KINDS[name], x=random(3, 7, 4), known=known)
    loops = [each for each in compiled.graph.nodes if each.op.name == "loop"]
    assert len(loops) == (2 if name == "both-ways" else 1)
    assert all(each.op.go_on is None for each in loops)


@pytest.mark.parametrize("name", ["lstm-rows", "gru"])
@pytest.mark.parametrize(("batch", "length"), [(1, 2), (2, 1), (3, 7)])
def test_a_layer_in_the_simulator(name: str, batch: int, length: int) -> None:
    check(KINDS[name], x=random(batch, length, 3), known=False, target="sim")


@pytest.mark.parametrize("target", ["", "sim"])
def test_a_mask_keeps_the_state(target: str) -> None:
    x = random(3, 5, 4)
    x[0, 3:] = x[1, 2] = x[2] = 0
    layers = (
        lambda kind: L.Masking(dtype=kind),
        lambda kind: L.GRU(4, return_sequences=True, dtype=kind),
        lambda kind: L.Bidirectional(L.LSTM(5, dtype=kind)),
    )
    check(*layers, x=x, known=False, target=target)


@pytest.mark.parametrize("target", ["", "sim"])
def test_a_recurrent_convolution(target: str) -> None:
    check(
        lambda kind: L.ConvLSTM2D(3, 3, padding="same", return_sequences=True, dtype=kind),
        x=random(2, 3, 5, 7, 2),
        target=target,
    )


def test_states_in_and_out() -> None:
    x, h, c = random(2, 7, 4), random(2, 5), random(2, 5)
    layer = L.LSTM(5, return_sequences=True, return_state=True)
    inputs = [keras.Input(each.shape[1:]) for each in (x, h, c)]
    model = keras.Model(inputs, layer(inputs[0], initial_state=inputs[1:]))
    compiled = hidet_tf.compile(model, options={"fallback": "error"})
    for one, other in zip(compiled([x, h, c]), model([x, h, c]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_a_text_classifier_with_padding() -> None:
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            L.Embedding(50, 8, mask_zero=True),
            L.Bidirectional(L.LSTM(6)),
            L.Dense(3, "softmax"),
        ]
    )
    compiled = hidet_tf.compile(model, options={"fallback": "error"})
    for words in ([[3, 5, 0, 0], [1, 2, 3, 4]], [[7, 0], [0, 0]]):
        given = np.array(words, np.int32)
        np.testing.assert_allclose(compiled(given), model(given), rtol=1e-5, atol=1e-6)
