"""A decoder that writes token after token, with keys and values in a cache, as KerasHub's do."""

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

import hidet_tf

L = keras.layers
WORDS, WIDTH, HEADS, LENGTH, DEPTH, END = 50, 16, 2, 9, 1, 1


class Attention(L.Layer):
    """Attention of new positions to all up to them, which a cache holds."""

    def __init__(self, dtype: str) -> None:
        super().__init__(dtype=dtype)
        shape = (HEADS, WIDTH // HEADS)
        made = [L.EinsumDense("abc,cde->abde", (None, *shape), dtype=dtype) for _ in range(3)]
        self.query, self.key, self.value = made
        self.out = L.EinsumDense("abcd,cde->abe", (None, WIDTH), dtype=dtype)

    def call(self, x: Any, cache: Any, index: Any) -> tuple[Any, Any]:
        keys = ops.slice_update(cache[:, 0], [0, index, 0, 0], self.key(x))
        values = ops.slice_update(cache[:, 1], [0, index, 0, 0], self.value(x))
        scores = ops.einsum("bqhd,bkhd->bhqk", self.query(x), keys) / (WIDTH / HEADS) ** 0.5
        rows = index + ops.arange(ops.shape(x)[1])
        seen = ops.arange(LENGTH)[None, :] <= rows[:, None]
        scores = ops.where(seen, scores, ops.cast(-1e9, scores.dtype))
        found = ops.einsum("bhqk,bkhd->bqhd", ops.softmax(scores), values)
        return self.out(found), ops.stack([keys, values], 1)


class Decoder(keras.Model):
    """Writes tokens after a prompt until all rows have ended."""

    def __init__(self, dtype: str) -> None:
        super().__init__(dtype=dtype)
        self.kind = dtype
        self.words, self.places = (L.Embedding(n, WIDTH, dtype=dtype) for n in (WORDS, LENGTH))
        self.attentions = [Attention(dtype) for _ in range(DEPTH)]
        self.norms = [L.LayerNormalization(dtype=dtype) for _ in range(DEPTH)]
        self.ups = [L.Dense(2 * WIDTH, "gelu", dtype=dtype) for _ in range(DEPTH)]
        self.downs = [L.Dense(WIDTH, dtype=dtype) for _ in range(DEPTH)]
        self.head = L.Dense(WORDS, dtype=dtype)

    def step(self, tokens: Any, cache: Any, index: Any) -> tuple[Any, Any]:
        """The scores of what follows each token, and the cache with these tokens in it."""
        x = self.words(tokens) + self.places(index + ops.arange(ops.shape(tokens)[1]))
        kept = []
        layers = zip(self.attentions, self.norms, self.ups, self.downs, strict=True)
        for number, (attention, norm, up, down) in enumerate(layers):
            found, now = attention(norm(x), cache=cache[:, number], index=index)
            x = x + found
            x = x + down(up(x))
            kept.append(now)
        return self.head(x), ops.stack(kept, 1)

    def call(self, prompt: Any) -> tuple[Any, Any]:
        rows, begin = ops.shape(prompt)[0], prompt.shape[1]
        cache = ops.zeros((rows, DEPTH, 2, LENGTH, HEADS, WIDTH // HEADS), dtype=self.kind)
        scores, cache = self.step(prompt, cache, 0)
        tokens = ops.pad(prompt, ((0, 0), (0, LENGTH - begin)))
        tokens = ops.slice_update(tokens, [0, begin], best(scores)[:, None])

        def goes_on(tokens: Any, cache: Any, scores: Any, index: Any) -> Any:
            return ops.logical_not(ops.all(ops.any(tokens[:, begin:] == END, -1)))

        def iteration(tokens: Any, cache: Any, scores: Any, index: Any) -> tuple[Any, ...]:
            last = ops.take(tokens, ops.reshape(index, (1,)), axis=1)
            scores, cache = self.step(last, cache, index)
            tokens = ops.slice_update(tokens, [0, index + 1], best(scores)[:, None])
            return tokens, cache, scores[:, -1], index + 1

        given = tokens, cache, scores[:, -1], ops.convert_to_tensor(begin)
        most = LENGTH - begin - 1
        tokens, _, scores, _ = ops.while_loop(goes_on, iteration, given, maximum_iterations=most)
        return tokens, scores


def best(scores: Any) -> Any:
    """The token with the highest score at the last position."""
    return ops.cast(ops.argmax(scores[:, -1], -1), "int32")


@pytest.mark.parametrize(("target", "rows"), [("", 3), ("sim", 1)])
def test_tokens_one_after_the_other(rows: int, target: str) -> None:
    prompt = np.random.default_rng(rows).integers(2, WORDS, (rows, 4)).astype(np.int32)
    keras.utils.set_random_seed(0)
    model, wide = Decoder("float32"), Decoder("float64")
    for each in (model, wide):
        each(prompt)
    wide.set_weights([each.astype(np.float64) for each in model.get_weights()])
    options = {"fallback": "error", "target": target}
    spec = tf.TensorSpec((None, 4), tf.int32)
    tokens, scores = hidet_tf.compile(model, spec, options=options)(prompt)
    meant, exact = wide(prompt)
    assert np.array_equal(tokens, meant)
    np.testing.assert_allclose(scores, exact, rtol=1e-4, atol=1e-5)
