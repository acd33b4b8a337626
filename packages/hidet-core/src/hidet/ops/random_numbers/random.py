"""Random numbers of several distributions, from a counter-based generator.

A seed gives the same numbers in each call. For others in each call, `offset` is an int64 0-d tensor
that the caller counts on, by the number of elements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import Tensor, apply
from hidet.ops.elementwise.binary import shift_right
from hidet.ops.elementwise.compare import greater_equal, less
from hidet.ops.elementwise.select import where
from hidet.ops.elementwise.unary import cos, log, sqrt
from hidet.ops.random_numbers.random_bits import RandomBits
from hidet.ops.reductions.reduce import argmax
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import ones
from hidet.ops.tensors.shape import unsqueeze
from hidet.types import Size, boolean, f32, f64, i64
from hidet.types import dtype as dtype_of

ITERATION = 2 * math.pi


def random_bits(
    shape: Sequence[Size], *, seed: int, stream: int = 0, offset: Tensor | None = None,
    device: str = "cpu", words: int = 1,
) -> Tensor:  # fmt: skip
    """32 random bits (u32) for each element, by Philox4x32-10.

    A counter gives `words` elements, at most 4. `seed` and `stream` are whole numbers of 64 bits;
    two streams of a seed are independent. Each call of a compiled model gives the same bits, unless
    an `offset` that it is given counts on.
    """
    return apply(
        RandomBits, offset, shape=tuple(shape), seed=seed % 2**64, stream=stream % 2**64,
        device=device, words=words,
    )  # fmt: skip


def random_uniform(
    shape: Sequence[Size], low: float = 0.0, high: float = 1.0, *, seed: int, stream: int = 0,
    offset: Tensor | None = None, dtype: Any = f32, device: str = "cpu",
) -> Tensor:  # fmt: skip
    """Uniformly distributed numbers from `low` to below `high`, in 2**24 equal steps.

    Each call gives the same numbers unless `offset`, a counter, changes from call to call.
    """
    bits = random_bits(shape, seed=seed, stream=stream, offset=offset, device=device)
    of = dtype_of(dtype)
    part = cast(shift_right(bits, 8), f64 if of is f64 else f32) * 2.0**-24
    return cast(part * (high - low) + low, of)


def random_normal(
    shape: Sequence[Size], mean: float = 0.0, scale: float = 1.0, *, seed: int, stream: int = 0,
    offset: Tensor | None = None, dtype: Any = f32, device: str = "cpu",
) -> Tensor:  # fmt: skip
    """Normally distributed numbers, by the cosine half of the Box-Muller transform.

    It uses two streams of random bits: 2 · `stream` and the one after it. Each call gives the same
    numbers unless `offset`, a counter, changes from call to call.
    """
    how: dict[str, Any] = {"seed": seed, "offset": offset, "device": device}
    first = random_uniform(shape, stream=2 * stream, **how)
    angle = random_uniform(shape, 0.0, ITERATION, stream=2 * stream + 1, **how)
    found = sqrt(log(1.0 - first) * -2.0) * cos(angle)
    return cast(found * scale + mean, dtype)


def bernoulli(
    probability: Tensor, *, seed: int, stream: int = 0, offset: Tensor | None = None,
    dtype: Any = boolean,
) -> Tensor:  # fmt: skip
    """True, or 1, where a random number is below the element of `probability`, else False, or 0.

    Each call gives the same results unless `offset`, a counter, changes from call to call.
    """
    drawn = random_uniform(
        probability.shape, seed=seed, stream=stream, offset=offset, device=probability.device
    )
    return cast(less(drawn, probability), dtype)


def multinomial(
    logits: Tensor, count: int, *, seed: int, stream: int = 0, offset: Tensor | None = None,
    dtype: Any = i64,
) -> Tensor:  # fmt: skip
    """`count` classes drawn for each row of logits[n, classes], with replacement: [n, count].

    The logits are logarithms of probabilities that need not sum to one. A class is drawn where
    logit plus Gumbel noise is largest. Each call gives the same classes unless `offset`, a counter,
    changes from call to call. Raises ShapeMismatch. Source: ONNX Multinomial-22.
    """
    if logits.ndim != 2:
        raise ShapeMismatch(f"multinomial takes [n, classes], not {logits.type}")
    rows, classes = logits.shape
    # Half a step above zero, so that both logarithms are finite.
    drawn = random_uniform(
        (rows, count, classes), 2.0**-25, 1.0 + 2.0**-25, seed=seed, stream=stream, offset=offset,
        dtype=f64, device=logits.device,
    )  # fmt: skip
    noise = -log(-log(drawn))
    return cast(argmax(unsqueeze(cast(logits, f64), 1) + noise, -1), dtype)


def dropout(
    x: Tensor, ratio: float = 0.5, *, training: bool = False, seed: int = 0, stream: int = 0,
    offset: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`x` with elements set to zero with probability `ratio`, the others divided by 1 - ratio; and
    a mask of those that were kept.

    All are kept unless `training`. Each call drops the same elements unless `offset`, a counter,
    changes from call to call.
    Source: Srivastava et al. 2014; ONNX Dropout-22.
    """
    if not 0 <= ratio < 1:
        raise BadArgument(f"a dropout ratio of {ratio}", help="it is at least 0 and below 1")
    if not training or ratio == 0:
        return x, ones(x.shape, boolean, device=x.device)
    drawn = random_uniform(x.shape, seed=seed, stream=stream, offset=offset, device=x.device)
    stays = greater_equal(drawn, ratio)
    return where(stays, x * (1 / (1 - ratio)), 0.0), stays
