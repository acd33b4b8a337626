"""Solutions, inverses and determinants, from the factors of square matrices."""

from __future__ import annotations

from hidet.graph import Tensor
from hidet.ops.elementwise.compare import equal, not_equal
from hidet.ops.elementwise.unary import absolute, log
from hidet.ops.elementwise.unary import sign as sign_of
from hidet.ops.matrices.factors import Factors, lu, require_square, triangular_solve
from hidet.ops.reductions.reduce import prod, sum
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import iota
from hidet.ops.tensors.shape import expand, reshape
from hidet.ops.tensors.strided import diagonal
from hidet.types import DType


def solve(a: Tensor, b: Tensor) -> Tensor:
    """The x[..., n, m] with a @ x = b, of matrices a[..., n, n] with the same axes ahead.

    Those of a singular matrix have elements that are infinite or NaN. Raises ShapeMismatch or
    DtypeMismatch.
    """
    return solutions(lu(a, b), b.dtype)


def solutions(found: Factors, dtype: DType) -> Tensor:
    """The solutions of the systems whose right-hand sides were eliminated with the matrices."""
    return cast(triangular_solve(found.packed, found.rest, lower=False), dtype)


def inverse(x: Tensor) -> Tensor:
    """The inverses of the matrices x[..., n, n]; of singular ones infinite or NaN.

    Raises ShapeMismatch or DtypeMismatch.
    """
    require_square(x, "inverse")
    return solve(x, identities(x))


def identities(x: Tensor) -> Tensor:
    """As many identity matrices, of the type and sizes of the square matrices x[..., n, n]."""
    row = iota(x.shape[-1], device=x.device)
    return expand(cast(equal(reshape(row, (-1, 1)), row), x.dtype), x.shape)


def det(x: Tensor) -> Tensor:
    """The determinants [...] of the matrices x[..., n, n]. Raises ShapeMismatch or DtypeMismatch.

    Source: ONNX Det-22.
    """
    found = lu(x)
    return cast(prod(diagonal(found.packed, 0, -2, -1), -1) * parity(found), x.dtype)


def slogdet(x: Tensor) -> tuple[Tensor, Tensor]:
    """The signs [...] of the determinants, and the logarithms of their absolute values.

    A determinant of zero has the sign 0 and the logarithm -inf. Raises ShapeMismatch or
    DtypeMismatch.
    """
    found = lu(x)
    factors = diagonal(found.packed, 0, -2, -1)
    sign = prod(sign_of(factors), -1) * parity(found)
    return cast(sign, x.dtype), cast(sum(log(absolute(factors)), -1), x.dtype)


def parity(factors: Factors) -> Tensor:
    """1 or -1: whether the rows were exchanged an even number of times."""
    moved = not_equal(factors.pivots, iota(factors.pivots.shape[-1], device=factors.pivots.device))
    signs = 1.0 - 2.0 * cast(moved, factors.packed.dtype)
    return prod(signs, -1)
