"""Fourier transforms by matmuls: of a short or prime length by one, of others factor by factor.

A transform of n = r · m elements is m transforms of length r, of elements m apart; products with
roots of unity (the twiddles); and r transforms of length m (Cooley and Tukey). Signals here are
x[b, n, 1 or 2], the last axis being real and imaginary parts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hidet.compute.sizes import tidy
from hidet.graph import Tensor, apply, make_node
from hidet.ops.elementwise.complex_product import ComplexProduct
from hidet.ops.products.matmul import matmul
from hidet.ops.signals.dft_matrix import DftMatrix
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.joining import concat
from hidet.ops.tensors.shape import permute, reshape
from hidet.ops.tensors.slicing import flip, slice
from hidet.types import DType, Size, f32, f64

SHORT = 32
"""Lengths up to here are transformed by one matmul; of longer ones the FFT library of a CPU takes
less time."""
LONG = 64
"""Beyond this length the sums of one matmul are float64: those of float32 are further off than
four times what FFTs are."""


@dataclass(frozen=True)
class Wanted:
    """What is computed of a transform: the first so many elements, or only their `real` parts."""

    columns: int
    real: bool
    inverse: bool


@dataclass(frozen=True)
class Matrix:
    """The matrix of a transform of `period` elements: the first so many `columns` of it.

    With `mirrored` the rows stand for the first half of a symmetric signal.
    """

    period: Size
    columns: Size
    real: bool
    inverse: bool
    mirrored: bool = False

    def of(self, rows: Size, parts: int, dtype: DType, device: str) -> Tensor:
        """[rows · parts, columns · parts of the result], divided by the period if inverse."""
        node = make_node(
            DftMatrix, device=device, rows=rows, columns=self.columns, period=self.period,
            complex_rows=parts == 2, complex_columns=not self.real, inverse=self.inverse,
            mirrored=self.mirrored, dtype=dtype,
        )  # fmt: skip
        width = 1 if self.real else 2
        return reshape(node.outputs[0], (tidy(rows * parts), tidy(self.columns * width)))


def by_matrix(x: Tensor, matrix: Matrix, wide: DType = f64) -> Tensor:
    """The transforms of x[b, rows, parts] by one matmul, in the type `wide`."""
    count, rows, parts = x.shape
    assert isinstance(parts, int), "signals have 1 or 2 parts"
    flat = reshape(cast(x, wide), (count, tidy(rows * parts)))
    found = matmul(flat, matrix.of(rows, parts, wide, x.device))
    return reshape(found, (count, matrix.columns, 1 if matrix.real else 2))


def mixed_radix(x: Tensor, first: int, wanted: Wanted) -> Tensor:
    """The transforms of x[b, n, parts] by that of a factor of n, and of what is left of n."""
    count, length, parts = x.shape
    assert isinstance(length, int), "the length is known"
    left = length // first
    columns = permute(reshape(x, (count, first, left, parts)), (0, 2, 1, 3))
    matrix = Matrix(first, first, real=False, inverse=wanted.inverse)
    short = reshape(columns, (tidy(count * left), first, parts))
    turned = twiddled(
        reshape(by_matrix(short, matrix, precision(first, x.dtype)), (count, left, first, 2)),
        wanted.inverse,
    )
    rows = reshape(permute(turned, (0, 2, 1, 3)), (tidy(count * first), left, 2))
    found = rest(rows, replace(wanted, columns=-(-wanted.columns // first)))
    _, each, width = found.shape
    spread = permute(reshape(found, (count, first, each, width)), (0, 2, 1, 3))
    whole = reshape(spread, (count, tidy(each * first), width))
    return slice(whole, 1, 0, wanted.columns)


def rest(x: Tensor, wanted: Wanted) -> Tensor:
    """The transforms of what a factor leaves."""
    _, length, _ = x.shape
    further = radix(length)
    if further is not None:
        return mixed_radix(x, further, wanted)
    matrix = Matrix(length, wanted.columns, wanted.real, wanted.inverse)
    return by_matrix(x, matrix, precision(length, x.dtype))


def twiddled(x: Tensor, inverse: bool) -> Tensor:
    """Element j, k of x[b, m, r, 2] turned by j · k parts of m · r of a turn."""
    _, left, first, _ = x.shape
    node = make_node(
        DftMatrix, device=x.device, rows=left, columns=first, period=tidy(left * first),
        complex_rows=False, complex_columns=True, inverse=inverse, mirrored=False, dtype=x.dtype,
        divided=False,
    )  # fmt: skip
    return apply(ComplexProduct, x, reshape(node.outputs[0], (left, first, 2)))


def mirrored(x: Tensor, period: int) -> Tensor:
    """All elements of the symmetric signal of which x[b, period // 2 + 1, 2] are the first."""
    behind = flip(slice(x, 1, 1, (period + 1) // 2), 1)
    real, imaginary = slice(behind, 2, 0, 1), slice(behind, 2, 1, 2)
    return concat((x, concat((real, -imaginary), 2)), 1)


def precision(length: Size, dtype: DType) -> DType:
    """The type that a transform of such a length is computed in."""
    return f64 if dtype is f64 or not isinstance(length, int) or length > LONG else f32


def radix(length: Size) -> int | None:
    """The factor to begin with: of those that lead to factors of one size, the nearest; None for
    lengths that are short, prime, or told by calls."""
    if not isinstance(length, int) or length <= SHORT:
        return None
    steps = 2
    while length > SHORT**steps:
        steps += 1
    even = length ** (1 / steps)
    factors = [each for each in range(2, min(length // 2, LONG) + 1) if length % each == 0]
    return min(factors, key=lambda each: max(each / even, even / each), default=None)
