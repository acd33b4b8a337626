"""Small graphs made at random, for comparing ways to compute them.

Values stay of moderate size, so that a comparison with float64 says something.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from random import Random
from typing import Any

import numpy as np

from hidet import ops
from hidet.graph import FlowGraph, Tensor, from_numpy, symbol, trace_from

Maker = Callable[[Random, list[Tensor], str], Tensor]
SIZES = (1, 2, 3, 5, 8)
LARGEST = 4096


def random_graph(
    random: Random, device: str = "cpu", steps: int = 6, constants: bool = False
) -> FlowGraph:
    """A graph of about `steps` operators on small float32 tensors; any tensor may be an output.

    An output may come twice, or be an input. With `constants` some tensors have values.
    """
    shape = tuple(random.choice(SIZES) for _ in range(random.randint(1, 3)))
    inputs = [symbol(shape, device=device), symbol(shape[-1:], device=device)]
    pool: list[Tensor] = [*inputs]
    if constants:
        values = np.random.default_rng(random.randrange(1 << 30)).standard_normal(shape)
        pool.append(from_numpy(values.astype(np.float32)))
    for _ in range(steps):
        made = random.choice(MAKERS)(random, pool, device)
        if 0 < prod(sizes(made)) <= LARGEST:
            pool.append(made)
    outputs = [pool[-1], *(random.choice(pool) for _ in range(random.randint(0, 2)))]
    return trace_from(outputs, inputs)


def arrays_for(graph: FlowGraph, seed: int = 0) -> list[np.ndarray[Any, Any]]:
    """Standard normal values for the inputs of a graph."""
    generator = np.random.default_rng(seed)
    return [generator.standard_normal(sizes(each)).astype(np.float32) for each in graph.inputs]


def sizes(x: Tensor) -> tuple[int, ...]:
    """The shape of a tensor whose sizes are all known."""
    return tuple(size for size in x.shape if isinstance(size, int))


def elementwise(random: Random, pool: list[Tensor], device: str) -> Tensor:
    """A function of each element."""
    function = random.choice((ops.relu, ops.tanh, ops.sigmoid, ops.negative, ops.absolute))
    return function(random.choice(pool))


def pair(random: Random, pool: list[Tensor], device: str) -> Tensor:
    """Two tensors that broadcast, or one and a number."""
    x, y = random.choice(pool), random.choice(pool)
    function = random.choice((ops.add, ops.subtract, ops.maximum))
    aligned = zip(reversed(x.shape), reversed(y.shape), strict=False)
    fits = all(a == b or 1 in (a, b) for a, b in aligned)
    return function(x, y) if fits else function(x, 0.5)


def moved(random: Random, pool: list[Tensor], device: str) -> Tensor:
    """The elements of a tensor in another order or under another shape."""
    x = random.choice(pool)
    match random.randrange(5):
        case 0:
            return ops.reshape(x, (-1,))
        case 1:
            return ops.reshape(x, (1, *x.shape))
        case 2 if x.ndim > 1:
            return ops.permute(x, random.sample(range(x.ndim), x.ndim))
        case 3 if x.ndim > 1:
            return ops.reshape(x, (x.shape[1], x.shape[0], *x.shape[2:]))
    return ops.flip(x, -1) if x.ndim else x


def part(random: Random, pool: list[Tensor], device: str) -> Tensor:
    """Some elements of a tensor, or more of them."""
    x = random.choice(pool)
    if not x.ndim:
        return ops.expand(x, (3,))
    axis = random.randrange(x.ndim)
    match random.randrange(4):
        case 0:
            return ops.slice(x, axis, 0, None, 2)
        case 1:
            return ops.concat([x, x], axis)
        case 2:
            return ops.pad(x, [(0, 0)] * axis + [(1, 1)] + [(0, 0)] * (x.ndim - axis - 1))
    return ops.expand(ops.unsqueeze(x, 0), (2, *x.shape))


def reduced(random: Random, pool: list[Tensor], device: str) -> Tensor:
    """A reduction, a running sum or a normalisation along one axis."""
    x = random.choice(pool)
    if not x.ndim:
        return ops.tanh(x)
    axis = random.randrange(x.ndim)
    match random.randrange(4):
        case 0:
            return ops.mean(x, axis, keepdims=random.random() < 0.5)
        case 1:
            return ops.max(x, axis, keepdims=random.random() < 0.5)
        case 2:
            return ops.softmax(x, axis)
    return ops.tanh(ops.cumsum(x, axis))


def product(random: Random, pool: list[Tensor], device: str) -> Tensor:
    """A matrix product with some other tensor, or with itself transposed; scaled down."""
    x = random.choice(pool)
    if x.ndim < 2:
        return ops.multiply(x, 0.5)
    others = [y for y in pool if y.ndim == 2 and y.shape[0] == x.shape[-1]]
    y = random.choice(others) if others else ops.transpose(x)
    return ops.tanh(ops.matmul(x, y))


MAKERS: tuple[Maker, ...] = (elementwise, elementwise, pair, pair, moved, part, reduced, product)
