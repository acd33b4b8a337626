"""Operators that sum products: matmuls, convolutions; and pooling."""

from __future__ import annotations

from typing import Any

from hidet import ops
from hidet.graph import Tensor
from hidet.testing.fuzz.elementwise import partner
from hidet.testing.fuzz.pool import Pool


def scaled(x: Tensor, terms: Any) -> Tensor:
    """A sum of so many products, made smaller where it may be large."""
    return x * 0.25 if not isinstance(terms, int) or terms > 16 else x


def product(pool: Pool) -> list[Tensor]:
    """A matmul, of more than two axes too, of transposed operands too."""
    x = pool.floats(1, 4)
    flipped = x.ndim >= 2 and pool.maybe(0.25)
    k = x.shape[-2] if flipped else x.shape[-1]
    other = pool.maybe(0.4)
    n = pool.size()
    lead = x.shape[:-2] if x.ndim > 2 and pool.maybe() else ()
    y = pool.new((*lead, n, k) if other else (*lead, k, n), x.dtype)
    if x.ndim == 1:
        return [scaled(ops.matmul(x, y, transpose_b=other), k)]
    return [scaled(ops.matmul(x, y, transpose_a=flipped, transpose_b=other), k)]


def contraction_of_products(pool: Pool) -> list[Tensor]:
    """A product of two tensors that are both there: one with itself, or two that fit."""
    x = pool.floats(2, 4)
    others = [y for y in pool.tensors if y.dtype is x.dtype and y.ndim == 2]
    fits = [y for y in others if y.shape[0] is x.shape[-1] or y.shape[0] == x.shape[-1]]
    if fits and pool.maybe():
        return [scaled(ops.matmul(x, pool.random.choice(fits)), x.shape[-1])]
    return [scaled(ops.matmul(x, x, transpose_b=True), x.shape[-1])]


def layer(pool: Pool) -> list[Tensor]:
    """A linear layer with what follows one: a bias, an activation, a residual."""
    x = pool.floats(1, 4)
    n = pool.size()
    bias = pool.new((n,), x.dtype) if pool.maybe(0.7) else None
    y = scaled(ops.linear(x, pool.new((n, x.shape[-1]), x.dtype), bias), x.shape[-1])
    if pool.maybe(0.4):
        y = pool.random.choice((ops.relu, ops.gelu, ops.silu, ops.tanh))(y)
    return [y, y + partner(pool, y)] if pool.maybe(0.3) else [y]


def convolution(pool: Pool) -> list[Tensor]:
    """A convolution over one or two axes, grouped or depthwise too."""
    x = pool.floats(3, 4)
    channels = x.shape[1]
    if not isinstance(channels, int):
        return []
    rank = x.ndim - 2
    groups = pool.random.choice([g for g in (1, 1, 2, channels) if channels % g == 0])
    out = groups * pool.size(8)
    window = [pool.random.choice((1, 2, 3)) for _ in range(rank)]
    weight = pool.new((out, channels // groups, *window), x.dtype)
    bias = pool.new((out,), x.dtype) if pool.maybe() else None
    y = ops.conv(
        x, weight, bias, stride=pool.random.randint(1, 2), padding=pool.random.randint(0, 2),
        dilation=pool.random.choice((1, 1, 2)), groups=groups,
    )  # fmt: skip
    y = scaled(y, channels // groups * 9)
    return [pool.random.choice((ops.relu, ops.silu, ops.relu6))(y)] if pool.maybe(0.3) else [y]


def transposed_convolution(pool: Pool) -> list[Tensor]:
    """A transposed convolution."""
    x = pool.floats(3, 4)
    channels = x.shape[1]
    if not isinstance(channels, int):
        return []
    weight = pool.new((channels, pool.size(5), *[2] * (x.ndim - 2)), x.dtype)
    return [scaled(ops.conv_transpose(x, weight, stride=pool.random.randint(1, 2)), channels * 4)]


def pooled(pool: Pool) -> list[Tensor]:
    """The largest or the mean of windows."""
    x = pool.floats(3, 4)
    window, stride = pool.random.randint(1, 3), pool.random.randint(1, 2)
    padding = pool.random.randint(0, window // 2)
    match pool.random.randrange(4):
        case 0:
            return [ops.avg_pool(x, window, stride=stride, padding=padding)]
        case 1:
            return [
                ops.avg_pool(x, window, stride=stride, padding=padding, count_include_pad=False)
            ]
        case 2:
            size = [pool.random.randint(1, 3)] * (x.ndim - 2)
            kind = pool.random.choice((ops.adaptive_avg_pool, ops.adaptive_max_pool))
            return [kind(x, size)]
    return [ops.max_pool(x, window, stride=stride, padding=padding)]
