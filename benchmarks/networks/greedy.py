"""GPT-2 that writes a text: a loop over tokens in the graph, its cache of fixed length carried."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from hidet import FlowGraph, Tensor, ops
from hidet.graph import asarray, symbol, trace_from


@dataclass(frozen=True)
class Sizes:
    """How large the model is; GPT-2's smallest by default."""

    layers: int = 12
    heads: int = 12
    width: int = 768
    vocabulary: int = 50257
    cache: int = 1024

    @property
    def depth(self) -> int:
        """Numbers of a head."""
        return self.width // self.heads


def greedy_gpt2(sizes: Sizes, tokens: int, dtype: str, device: str) -> FlowGraph:
    """The token i64[1] that begins a text to the `tokens` most likely ones that follow it, i64
    [tokens, 1]; weights are random, with a fixed seed."""
    weights = Weights(sizes, dtype, device)
    first = symbol((1,), "int64", device=device, name="token")
    shape = (sizes.heads, sizes.cache, sizes.depth)
    empty = [ops.zeros(shape, dtype, device=device) for _ in range(2 * sizes.layers)]
    step = partial(next_token, sizes, weights)
    _, (text,), _ = ops.loop(step, [first, *empty], trips=tokens)
    return trace_from(text, first)


class Weights:
    """Random weights of a scale that keeps activations near one, drawn once each."""

    def __init__(self, sizes: Sizes, dtype: str, device: str) -> None:
        self.dtype, self.device, self.random = dtype, device, np.random.default_rng(0)
        width, layers = sizes.width, range(sizes.layers)
        self.tokens = self.drawn(sizes.vocabulary, width, scale=0.5)
        self.head = self.drawn(width, sizes.vocabulary, scale=1 / math.sqrt(width))
        self.places = self.drawn(sizes.cache, width, scale=0.1)
        self.attention = [self.matrix(width, 3 * width) for _ in layers]
        self.projection = [self.matrix(width, width) for _ in layers]
        self.up = [self.matrix(width, 4 * width) for _ in layers]
        self.down = [self.matrix(4 * width, width) for _ in layers]
        self.norms = [[self.drawn(width, scale=0.1) for _ in range(4)] for _ in (*layers, 0)]

    def matrix(self, rows: int, columns: int) -> tuple[Tensor, Tensor]:
        """A matrix and what is added to its products."""
        scale = 1 / math.sqrt(rows)
        return self.drawn(rows, columns, scale=scale), self.drawn(columns, scale=0.1)

    def drawn(self, *shape: int, scale: float) -> Tensor:
        """A weight."""
        values = asarray(self.random.standard_normal(shape, np.float32) * np.float32(scale))
        return ops.cast(values, self.dtype).to(self.device)


def next_token(
    sizes: Sizes, weights: Weights, iteration: Tensor, token: Tensor, *cache: Tensor
) -> tuple[None, list[Tensor], list[Tensor]]:
    """An iteration: the token that follows one, and the keys and values of what was read so far."""
    at = ops.reshape(iteration, (1,))
    x = ops.embedding(weights.tokens, token) + ops.embedding(weights.places, at)
    kept = ops.iota(sizes.cache, device=x.device) <= at
    following: list[Tensor] = []
    for layer in range(sizes.layers):
        h = normed(x, weights.norms[layer][:2])
        q, k, v = (
            heads(each, sizes) for each in ops.chunk(times(h, weights.attention[layer]), 3, 1)
        )
        keys, values = (
            ops.index_put(old, (None, at), new, distinct=True)
            for old, new in zip(cache[2 * layer : 2 * layer + 2], (k, v), strict=True)
        )
        following += [keys, values]
        found = ops.attention(q, keys, values, ops.reshape(kept, (1, 1, sizes.cache)))
        found = ops.reshape(ops.permute(found, (1, 0, 2)), (1, sizes.width))
        x = x + times(found, weights.projection[layer])
        h = ops.gelu(times(normed(x, weights.norms[layer][2:]), weights.up[layer]), "tanh")
        x = x + times(h, weights.down[layer])
    last = normed(x, weights.norms[-1][:2])
    best = ops.argmax(last @ weights.head, 1)
    return None, [best, *following], [best]


def normed(x: Tensor, weights: list[Tensor]) -> Tensor:
    """A layer norm whose gain is near one."""
    gain, bias = weights
    return ops.layer_norm(x, gain + 1.0, bias)


def times(x: Tensor, weights: tuple[Tensor, Tensor]) -> Tensor:
    """A linear layer."""
    matrix, bias = weights
    return x @ matrix + bias


def heads(x: Tensor, sizes: Sizes) -> Tensor:
    """[1, heads * depth] to [heads, 1, depth]."""
    return ops.permute(ops.reshape(x, (1, sizes.heads, sizes.depth)), (1, 0, 2))
