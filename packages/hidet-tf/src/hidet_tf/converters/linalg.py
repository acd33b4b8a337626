"""Matrices: factors, systems, inverses, determinants, diagonals, cross products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hidet import ops
from hidet.compute.sizes import broadcast, tidy
from hidet.errors import NotYet
from hidet.frontend.importing.matrices import require_few
from hidet.frontend.importing.operands import integer, integers
from hidet.graph import Tensor
from hidet.types import DType
from hidet_tf.converters.table import tf


def of_few(name: str, function: Callable[[Tensor], Any]) -> None:
    """File a function of matrices with few rows."""

    def convert(x: Tensor) -> Any:
        require_few(x)
        return function(x)

    tf(name)(convert)


of_few("MatrixDeterminant", ops.det)
of_few("LogMatrixDeterminant", ops.slogdet)
of_few("Cholesky", ops.cholesky)


@tf("MatrixInverse")
def inverse(x: Tensor, *, adjoint: bool) -> Tensor:
    """The inverses, or their transposes."""
    require_few(x)
    found = ops.inverse(x)
    return ops.transpose(found) if adjoint else found


@tf("MatrixSolve")
def solve(a: Tensor, b: Tensor, *, adjoint: bool) -> Tensor:
    """The solutions of a @ x = b, or of those of the transposes of a."""
    require_few(a)
    return ops.solve(ops.transpose(a) if adjoint else a, b)


@tf("MatrixTriangularSolve")
def triangular_solve(a: Tensor, b: Tensor, *, lower: bool, adjoint: bool) -> Tensor:
    """The same of triangular matrices; axes ahead broadcast."""
    ahead = broadcast(a.shape[:-2], b.shape[:-2])
    a, b = (ops.expand(each, (*ahead, *each.shape[-2:])) for each in (a, b))
    if adjoint:
        a, lower = ops.transpose(a), not lower
    return ops.triangular_solve(a, b, lower=lower)


@tf("Lu")
def lu(x: Tensor, *, output_idx_type: DType) -> tuple[Tensor, Tensor]:
    """Both factors in one matrix, and which row of x each of their product is."""
    require_few(x)
    found = ops.lu(x)
    return ops.cast(found.packed, x.dtype), ops.cast(found.order, output_idx_type)


@tf("MatrixDiagPartV3")
def diagonal_part(x: Tensor, k: Tensor, fill: Tensor, *, align: str) -> Tensor:
    """The diagonal that is k above the main one; a band of several is left to TensorFlow."""
    return ops.diagonal(x, single(k), -2, -1)


@tf("MatrixDiagV3")
def matrix_of_diagonal(
    x: Tensor, k: Tensor, rows: Tensor, columns: Tensor, fill: Tensor, *, align: str
) -> Tensor:
    """Matrices with a diagonal that is k above the main one, one number elsewhere."""
    offset, count = single(k), x.shape[-1]
    before, after = max(-offset, 0), max(offset, 0)
    given = [integer(each) for each in (rows, columns)]
    least = (before, after) if max(given) > -1 else (abs(offset),) * 2  # else they are square
    height, width = (
        tidy(count + more) if said == -1 else said for more, said in zip(least, given, strict=True)
    )
    column = ops.reshape(ops.iota(width, device=x.device), (1, -1))
    row = ops.reshape(ops.iota(height, device=x.device), (-1, 1))
    place = ops.clamp(ops.subtract(column, after), 0)
    there = ops.minimum(place, ops.size_value(tidy(count - 1), device=x.device))
    values = ops.unsqueeze(ops.take(x, [*[None] * (x.ndim - 1), ops.reshape(there, (-1,))]), -2)
    return ops.where(ops.equal(ops.subtract(column, row), offset), values, fill)


@tf("MatrixSetDiagV3")
def with_diagonal(x: Tensor, diagonal: Tensor, k: Tensor, *, align: str) -> Tensor:
    """x with other elements on the diagonal that is k above the main one."""
    offset = single(k)
    column = ops.reshape(ops.iota(x.shape[-1], device=x.device), (1, -1))
    row = ops.reshape(ops.iota(x.shape[-2], device=x.device), (-1, 1))
    most = ops.size_value(tidy(diagonal.shape[-1] - 1), device=x.device)
    place = ops.minimum(ops.clamp(ops.subtract(column, max(offset, 0)), 0), most)
    index = [*[None] * (diagonal.ndim - 1), ops.reshape(place, (-1,))]
    values = ops.unsqueeze(ops.take(diagonal, index), -2)
    return ops.where(ops.equal(ops.subtract(column, row), offset), values, x)


def single(k: Tensor) -> int:
    """The number of a diagonal; NotYet for a band."""
    found = {*integers(ops.reshape(k, (-1,)))}
    if len(found) != 1:
        raise NotYet("a band of diagonals")
    return found.pop()


@tf("Cross")
def cross(a: Tensor, b: Tensor) -> Tensor:
    """The cross products of the last axis, of three numbers."""

    def part(x: Tensor, first: int, second: int, y: Tensor) -> Tensor:
        return ops.multiply(ops.select(x, -1, first), ops.select(y, -1, second))

    pairs = ((1, 2), (2, 0), (0, 1))
    return ops.stack([ops.subtract(part(a, i, j, b), part(a, j, i, b)) for i, j in pairs], -1)
