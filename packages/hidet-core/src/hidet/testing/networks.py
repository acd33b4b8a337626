"""Small convolutional networks made at random, for comparing ways to compute them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from hidet import ops
from hidet.graph import FlowGraph, Tensor, from_numpy, symbol, trace_from
from hidet.testing.graphs import sizes

Layer = Callable[[Random, list[Tensor]], Any]
CHANNELS = (1, 2, 3, 7, 8, 16, 24, 33)


def random_network(random: Random, dtype: str = "float32", steps: int = 7) -> FlowGraph:
    """A graph of about `steps` layers on one or two small images; values stay moderate."""
    shape = (random.choice((1, 2)), random.choice((3, 4, 8)), *random.choices((5, 7, 9, 12), k=2))
    x = symbol(shape, dtype)
    pool = [x, convolution(random, [x])]
    for _ in range(steps):
        made = random.choice(LAYERS)(random, pool)
        if min(sizes(made)) > 0:
            pool.append(made)
    outputs = [pool[-1], random.choice(pool[1:])]
    return trace_from(list(dict.fromkeys(outputs)), [x])


def constant(random: Random, like: Tensor, *shape: int) -> Tensor:
    """A constant of the type of `like`, such that sums of its products stay moderate."""
    values = np.random.default_rng(random.randrange(1 << 30)).uniform(-1, 1, shape)
    return from_numpy((values / np.prod(shape[1:]) ** 0.5).astype(like.dtype.numpy))


def image(random: Random, pool: list[Tensor]) -> Tensor:
    """One of the images there are, the latest most likely."""
    return pool[-1] if random.random() < 0.6 else random.choice(pool)


def convolution(random: Random, pool: list[Tensor]) -> Tensor:
    """A convolution, with some function of each element after it."""
    x = image(random, pool)
    _, channels, *plane = sizes(x)
    out, window = random.choice(CHANNELS), random.choice((1, 1, 2, 3))
    groups = random.choice([n for n in (1, 1, 2, channels) if channels % n == 0])
    out = groups * max(1, out // groups) if groups < channels else channels * random.choice((1, 2))
    window = min(window, *plane)
    weight = constant(random, x, out, channels // groups, window, window)
    bias = constant(random, x, out) if random.random() < 0.5 else None
    y = ops.conv(
        x, weight, bias, stride=random.choice((1, 1, 2)), padding=random.choice((0, window // 2)),
        groups=groups,
    )  # fmt: skip
    return random.choice((ops.relu, ops.sigmoid, ops.negative, lambda v: v))(y)


def joined(random: Random, pool: list[Tensor]) -> Any:
    """A sum with another image, or several images side by side."""
    x = image(random, pool)
    alike = [y for y in pool if sizes(y)[2:] == sizes(x)[2:] and sizes(y)[0] == sizes(x)[0]]
    others = [y for y in alike if y.shape == x.shape]
    if random.random() < 0.5:
        return ops.concat([random.choice(alike), x], 1)
    return x + random.choice(others)


def scaled(random: Random, pool: list[Tensor]) -> Any:
    """Channels scaled by what their means give, by constants, or normalised."""
    x = image(random, pool)
    channels = sizes(x)[1]
    match random.randrange(4):
        case 0:
            return x * ops.sigmoid(ops.adaptive_avg_pool(x, (1, 1)))
        case 1:
            return x * constant(random, x, channels, 1, 1)
        case 2:
            mean, var = constant(random, x, channels), ops.absolute(constant(random, x, channels))
            return ops.batch_norm(x, mean, var + 0.5)
    return ops.group_norm(x, 1 if channels % 2 else 2, eps=0.5)


def pooled(random: Random, pool: list[Tensor]) -> Tensor:
    """Windows combined."""
    x = image(random, pool)
    window = min(random.choice((2, 3)), *sizes(x)[2:])
    pooling = random.choice((ops.max_pool, ops.avg_pool))
    return pooling(x, window, stride=random.choice((1, 2)), padding=window // 2)


def cut(random: Random, pool: list[Tensor]) -> Tensor:
    """Some channels, or a margin."""
    x = image(random, pool)
    if random.random() < 0.5:
        return ops.pad(x, [(0, 0), (0, 0), (1, 0), (0, 2)])
    start = random.randrange(sizes(x)[1])
    return ops.slice(x, 1, start, random.randint(start + 1, sizes(x)[1]))


LAYERS: tuple[Layer, ...] = (convolution,) * 4 + (joined, joined, scaled, pooled, cut)
