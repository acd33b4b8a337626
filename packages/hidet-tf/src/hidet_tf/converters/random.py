"""Random numbers of seeds that the model holds, bit for bit TensorFlow's.

TensorFlow draws by Philox4x32-10: a key and a counter of two words of 64 bits each, of which each
value gives four words of 32 bits. Source: tensorflow/core/lib/random/random_distributions.h and
tensorflow/core/kernels/stateless_random_ops.cc.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hidet import ops
from hidet.compute.sizes import product, tidy
from hidet.errors import NotYet
from hidet.frontend.importing.operands import constant, integer, integers, sizes_of
from hidet.graph import Tensor
from hidet.graph.evaluate import refer
from hidet.ops.random_numbers.random_bits import RandomBits
from hidet.types import DType, Size, bf16, f16, f32, f64, i64, u32, u64
from hidet_tf.converters.table import tf

SCRAMBLE = 0x02461E29_3EC8F720
"""The key by which TensorFlow makes the key and the counter of a seed."""
PHILOX = (1, 3)
"""The numbers of the algorithm, by its name and as what TensorFlow chooses itself."""
LOW = 2**32 - 1


@tf("StatelessRandomGetKeyCounter")
def key_and_counter(seed: Tensor) -> tuple[Tensor, Tensor]:
    """The key [1] and the counter [2] of a seed of two numbers."""
    first, second = (each % 2**64 for each in integers(seed))
    start = first - 2**64 if first >= 2**63 else first
    op = RandomBits(i64[()], (4,), SCRAMBLE, second, 4)
    words = [int(each) for each in refer(op, [start])[0]]
    # As arrays of their type: numpy takes large numbers beside small ones for floats.
    key = np.array([words[0] | words[1] << 32], np.uint64)
    counter = np.array([0, words[2] | words[3] << 32], np.uint64)
    return constant(key, u64, seed.device), constant(counter, u64, seed.device)


def bits(shape: tuple[Size, ...], key: Tensor, counter: Tensor, algorithm: Tensor) -> Tensor:
    """So many words of 32 bits, in order."""
    if integer(algorithm) not in PHILOX:
        raise NotYet("random numbers by another algorithm than Philox")
    start, stream = integers(counter)
    offset = None if start == 0 else constant(start, i64, key.device)
    return ops.random_bits(
        shape, seed=integer(key), stream=stream, offset=offset, device=key.device, words=4
    )


def fraction(words: Tensor, mantissa: int, wide: DType) -> Tensor:
    """Numbers from 0 to below 1, by the low bits of words."""
    low = ops.bitwise_and(words, ops.full((), 2**mantissa - 1, u32, device=words.device))
    return ops.multiply(ops.cast(low, wide), 2.0**-mantissa)


@tf("StatelessRandomUniformV2")
def uniform(
    shape: Tensor, key: Tensor, counter: Tensor, algorithm: Tensor, *, dtype: DType
) -> Tensor:
    """Numbers from 0 to below 1."""
    sizes = sizes_of(shape)
    if dtype is f64:
        low, high = pairs(sizes, key, counter, algorithm)  # the first word is the high one here
        part = ops.multiply(fraction(high, 20, f64), 1.0)
        return ops.add(part, ops.multiply(ops.cast(low, f64), 2.0**-52))
    mantissa = {f32: 23, f16: 10, bf16: 7}[dtype]
    return ops.cast(fraction(bits(sizes, key, counter, algorithm), mantissa, f32), dtype)


def pairs(
    sizes: tuple[Size, ...], key: Tensor, counter: Tensor, algorithm: Tensor
) -> tuple[Tensor, Tensor]:
    """The second and the first of two words for each element."""
    words = bits((*sizes, 2), key, counter, algorithm)
    return ops.select(words, -1, 1), ops.select(words, -1, 0)


def wide_words(sizes: tuple[Size, ...], *how: Tensor) -> Tensor:
    """64 random bits for each element."""
    high, low = (ops.cast(each, u64) for each in pairs(sizes, *how))
    return ops.bitwise_or(ops.shift_left(high, ops.full((), 32, u64, device=high.device)), low)


@tf("StatelessRandomUniformFullIntV2")
def uniform_bits(
    shape: Tensor, key: Tensor, counter: Tensor, algorithm: Tensor, *, dtype: DType
) -> Tensor:
    """Whole numbers, each that the type has as likely."""
    return whole(sizes_of(shape), key, counter, algorithm, dtype, signed=True)


def whole(
    sizes: tuple[Size, ...], key: Tensor, counter: Tensor, algorithm: Tensor, of: DType,
    signed: bool = False,
) -> Tensor:  # fmt: skip
    """Random bits of a type, or of the unsigned one as wide."""
    wide = of in (i64, u64)
    words = (wide_words if wide else bits)(sizes, key, counter, algorithm)
    return ops.bitcast(words, of) if signed else words


@tf("StatelessRandomUniformIntV2")
def uniform_int(
    shape: Tensor, key: Tensor, counter: Tensor, algorithm: Tensor, low: Tensor, high: Tensor
) -> Tensor:
    """Whole numbers from one to below another."""
    of = low.dtype
    words = whole(sizes_of(shape), key, counter, algorithm, of)
    span = ops.bitcast(ops.subtract(high, low), words.dtype)
    return ops.add(ops.bitcast(ops.remainder(words, span), of), low)


@tf("StatelessRandomNormalV2")
def normal(
    shape: Tensor, key: Tensor, counter: Tensor, algorithm: Tensor, *, dtype: DType
) -> Tensor:
    """Normally distributed numbers, two of two by Box and Muller; logarithms and sines are ours."""
    if dtype is not f32:
        raise NotYet(f"normal random numbers of type {dtype.name}")
    sizes = sizes_of(shape)
    count = product(sizes)
    half: Any = tidy((count + 1) // 2)
    words = bits((half, 2), key, counter, algorithm)
    first = ops.maximum(fraction(ops.select(words, 1, 0), 23, f32), 1e-7)
    angle = ops.multiply(fraction(ops.select(words, 1, 1), 23, f32), 2 * math.pi)
    length = ops.sqrt(ops.multiply(ops.log(first), -2.0))
    parts = [ops.multiply(each(angle), length) for each in (ops.sin, ops.cos)]
    both = ops.stack(parts, 1)
    return ops.reshape(ops.window(ops.reshape(both, (-1,)), [0], [count]), sizes)
