"""Fourier transforms, of which each axis is transformed after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hidet import ops
from hidet.compute.sizes import product
from hidet.frontend.importing.complex_numbers import Complex
from hidet.graph import Tensor
from hidet.ops.signals.fourier_steps import SHORT
from hidet.types import Size
from hidet_torch.converters.pairs import pairs
from hidet_torch.converters.table import aten, require

BY_ROOT, BY_SIZE = 1, 2
"""How PyTorch says that results are divided by the root of how many there are, or by that."""
MOST = 2048
"""The prime factor of a length up to which it is transformed by matmuls; PyTorch needs fewer
operations for the longer ones."""


@pairs(aten._fft_r2c.default)
def of_real(x: Tensor, axes: Sequence[int], normalization: int, onesided: bool) -> Complex:
    """The transform of real numbers, or half of it along the last of the axes."""
    *others, last = require_smooth(x, axes)
    parts = ops.dft(ops.unsqueeze(x, -1), axis=last, onesided=onesided)
    for axis in others:
        parts = ops.dft(parts, axis=axis)
    return scaled(parts, x, axes, normalization)


@pairs(aten._fft_c2c.default)
def of_complex(z: Complex, axes: Sequence[int], normalization: int, forward: bool) -> Complex:
    """The transform, or the inverse one."""
    found = require_smooth(z.real, axes)
    if forward and found and z.is_real:
        return of_real(z.real, axes, normalization, False)
    parts = z.parts
    for axis in found:
        parts = ops.dft(parts, axis=axis, inverse=not forward)
    return scaled(parts, z.real, axes, normalization, inverse=not forward)


@pairs(aten._fft_c2r.default)
def to_real(z: Complex, axes: Sequence[int], normalization: int, length: Size) -> Tensor:
    """The so many real numbers, along the last of the axes, whose half transform this is."""
    *others, last = require_smooth(z.real, axes)
    require_fast(length, z.real.device)
    parts = z.parts
    for axis in others:
        parts = ops.dft(parts, axis=axis, inverse=True)
    found = ops.squeeze(ops.dft(parts, length, axis=last, inverse=True, onesided=True), -1)
    factor = factor_of([found.shape[axis] for axis in (*others, last)], normalization, True)
    return found if factor == 1 else ops.multiply(found, factor)


def scaled(
    parts: Tensor, x: Tensor, axes: Sequence[int], normalization: int, *, inverse: bool = False
) -> Complex:
    """The results as PyTorch divides them; inverse ones are divided by their number."""
    factor = factor_of([x.shape[axis] for axis in axes], normalization, inverse)
    return Complex.of(parts if factor == 1 else ops.multiply(parts, factor))


def factor_of(sizes: Sequence[Size], normalization: int, inverse: bool) -> float:
    """What a transform of such sizes is multiplied by still."""
    if normalization == (BY_SIZE if inverse else 0):
        return 1
    count = product(sizes)
    require(isinstance(count, int) and count > 0, "a scaled Fourier transform of open size")
    assert isinstance(count, int), "sizes are known"
    own = count if inverse else 1
    return own * {0: 1, BY_ROOT: 1 / math.sqrt(count), BY_SIZE: 1 / count}[normalization]


def require_smooth(x: Tensor, axes: Sequence[int]) -> list[int]:
    """The axes, counted from the first; NotYet where a transform is slow."""
    found = [axis % x.ndim for axis in axes]
    for axis in found:
        require_fast(x.shape[axis], x.device)
    return found


def require_fast(length: Size, device: str) -> None:
    """Leave to PyTorch lengths that it transforms much faster."""
    require(is_smooth(length), f"a Fourier transform whose length has a prime factor beyond {MOST}")
    is_short = device != "cpu" or (isinstance(length, int) and length <= SHORT)
    require(
        is_short,
        f"a Fourier transform of more than {SHORT} elements on a CPU, or of a dynamic number",
    )


def is_smooth(length: Size) -> bool:
    """Whether no prime factor of a length is large; lengths that calls tell have to be short."""
    if not isinstance(length, int):
        return True
    factor = 2
    while length > MOST and factor <= MOST:
        if length % factor:
            factor += 1
        else:
            length //= factor
    return length <= MOST
