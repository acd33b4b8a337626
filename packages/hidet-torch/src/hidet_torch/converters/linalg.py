"""Matrices: factors, systems of equations, inverses, determinants.

The operators that `torch.linalg` functions come to also give what went wrong (`info`); PyTorch
raises by it. Axes ahead of the matrices broadcast in systems.
"""

from __future__ import annotations

from hidet import ops
from hidet.compute.sizes import agree, broadcast
from hidet.errors import NotYet
from hidet.frontend.importing.matrices import require_few
from hidet.graph import Tensor
from hidet.ops.matrices.factors import Factors
from hidet.ops.matrices.linalg import identities, solutions
from hidet.types import f32, f64, i32
from hidet_torch.converters.table import aten, require, torch


@torch(aten._linalg_solve_ex.default)
def solve_ex(
    a: Tensor, b: Tensor, *, left: bool = True, check_errors: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The solutions of a @ x = b, or of x @ a = b, the factors of a, their pivots and info."""
    require_plain(a, check_errors)
    vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and all(map(agree, b.shape, a.shape[:-1])))
    right = ops.unsqueeze(b, -1) if vector else b
    found, factors = solved(a, right, left or vector)
    return (ops.squeeze(found, -1) if vector else found, *lapack_form(factors, a))


def solved(a: Tensor, b: Tensor, left: bool) -> tuple[Tensor, Factors]:
    """The solutions of systems, and the factors of a. Those of x @ a = b are transposed ones of
    a @ x = b."""
    matrices, right = ahead_alike(a, b)
    if not left:
        turned = ops.solve(ops.transpose(matrices), ops.transpose(right))
        return ops.transpose(turned), ops.lu(a)
    found = ops.lu(matrices, right)
    return solutions(found, b.dtype), found if matrices.shape == a.shape else ops.lu(a)


@torch(aten.linalg_inv_ex.default)
def inv_ex(x: Tensor, *, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    """The inverses, and which pivot is zero."""
    require_plain(x, check_errors)
    found = ops.lu(x, identities(x))
    return solutions(found, x.dtype), info(found.packed)


def lapack_form(found: Factors, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Both factors of x in one matrix, the row, from 1, that each step exchanged, and info."""
    return ops.cast(found.packed, x.dtype), pivots(found.pivots), info(found.packed)


@torch(aten._linalg_det.default)
def det(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The determinants, with the factors and pivots."""
    require_plain(x)
    return (ops.det(x), *lapack_form(ops.lu(x), x)[:2])


@torch(aten._linalg_slogdet.default)
def slogdet(x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The signs of the determinants and the logarithms of the rest, with factors and pivots."""
    require_plain(x)
    return (*ops.slogdet(x), *lapack_form(ops.lu(x), x)[:2])


@torch(aten.linalg_cholesky_ex.default)
def cholesky_ex(
    x: Tensor, *, upper: bool = False, check_errors: bool = False
) -> tuple[Tensor, Tensor]:
    """The triangular l with l @ transpose(l) = x, or its transpose, and the order of the first
    leading minor that is not positive."""
    require_plain(x, check_errors)
    found = ops.cholesky(ops.transpose(x) if upper else x)
    wrong = ops.logical_not(ops.greater(ops.diagonal(found, 0, -2, -1), 0.0))
    return ops.transpose(found) if upper else found, first_true(wrong)


@torch(aten.cholesky.default)
def cholesky(x: Tensor, upper: bool = False) -> Tensor:
    """The same without info: where it is not zero a check raises (`importing/checks.py`)."""
    return cholesky_ex(x, upper=upper)[0]


@torch(aten.linalg_solve_triangular.default)
def solve_triangular(
    a: Tensor, b: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    """The solutions of a @ x = b, or of x @ a = b, of triangular matrices."""
    require_plain(a)
    a, b = ahead_alike(a, b)
    if left:
        return ops.triangular_solve(a, b, lower=not upper, unit_diagonal=unitriangular)
    a, b = ops.transpose(a), ops.transpose(b)
    return ops.transpose(ops.triangular_solve(a, b, lower=upper, unit_diagonal=unitriangular))


@torch(aten.triangular_solve.default)
def triangular_solve(
    b: Tensor, a: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Tensor, Tensor]:
    """The same by its older name, and the matrices."""
    matrices = ops.transpose(a) if transpose else a
    found = solve_triangular(matrices, b, upper=upper != transpose, unitriangular=unitriangular)
    return found, ops.expand(a, (*found.shape[:-2], *a.shape[-2:]))


@torch(aten.cholesky_inverse.default)
def cholesky_inverse(factor: Tensor, upper: bool = False) -> Tensor:
    """The inverses of a = l @ transpose(l)."""
    return cholesky_solve(identities(factor), factor, upper)


@torch(aten.cholesky_solve.default)
def cholesky_solve(b: Tensor, factor: Tensor, upper: bool = False) -> Tensor:
    """The solutions of a @ x = b, of a = l @ transpose(l)."""
    lower = ops.transpose(factor) if upper else factor
    found = solve_triangular(lower, b, upper=False)
    return solve_triangular(ops.transpose(lower), found, upper=True)


def require_plain(x: Tensor, check_errors: bool = False) -> None:
    """Leave to PyTorch what is slower here, and what raises by itself."""
    require(not check_errors, "errors of matrices that are singular")
    require(x.dtype in (f32, f64), f"factors of {x.dtype.name}")
    if not agree(x.shape[-1], x.shape[-2]):
        raise NotYet("factors of matrices that are not square")
    require_few(x)


def ahead_alike(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both with the axes ahead of their matrices that they broadcast to."""
    ahead = broadcast(a.shape[:-2], b.shape[:-2])
    return ops.expand(a, (*ahead, *a.shape[-2:])), ops.expand(b, (*ahead, *b.shape[-2:]))


def pivots(taken: Tensor) -> Tensor:
    """int32 [..., n]: the row, from 1, that each step exchanged with its own."""
    return ops.cast(ops.add(taken, 1), i32)


def info(packed: Tensor) -> Tensor:
    """int32 [...]: which pivot, from 1, is the first that is zero; 0 if none is."""
    return first_true(ops.equal(ops.diagonal(packed, 0, -2, -1), 0.0))


def first_true(marks: Tensor) -> Tensor:
    """int32 [...]: the place, from 1, of the first mark along the last axis; 0 where none is."""
    before = ops.cumprod(ops.cast(ops.logical_not(marks), i32), -1)  # 1 until the first mark
    count, size = ops.sum(before, -1), ops.size_value(marks.shape[-1], device=marks.device)
    return ops.cast(ops.where(ops.equal(count, size), 0, count + 1), i32)
