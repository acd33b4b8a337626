"""LU factors, of matrices of any form, as PyTorch keeps them: packed, with pivots from 1."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.frontend.importing.matrices import require_few
from hidet.graph import Tensor
from hidet.types import f32, f64, i64
from hidet_torch.converters.linalg import info, pivots, solve_triangular
from hidet_torch.converters.table import NotComputed, aten, require, torch


def require_small(x: Tensor) -> None:
    """Leave to PyTorch what is slower here, and other types."""
    require_few(x)
    require(x.dtype in (f32, f64), f"factors of {x.dtype.name}")


def factored(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Both factors in one matrix [..., m, n], the rows of x in their order [..., m], and the row
    that each of the min(m, n) steps took, from 0."""
    require_small(x)
    rows, columns = x.shape[-2:]
    assert isinstance(rows, int)
    assert isinstance(columns, int)
    if rows > columns:  # columns of zeros behind need no step
        padded = ops.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, rows - columns)])
        found = ops.lu(padded)
        packed = ops.slice(found.packed, -1, 0, columns)
        return packed, found.order, ops.slice(found.pivots, -1, 0, columns)
    found = ops.lu(ops.slice(x, -1, 0, rows), ops.slice(x, -1, rows, columns))
    return ops.concat((found.packed, found.rest), -1), found.order, found.pivots


@torch(aten.linalg_lu_factor_ex.default)
def lu_factor(
    x: Tensor, *, pivot: bool = True, check_errors: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """Both factors in one matrix, the pivots, and which of them is 0."""
    require(pivot and not check_errors, "factors without pivots, or errors where they are 0")
    packed, _, taken = factored(x)
    return packed, pivots(taken), info(packed)


@torch(aten.linalg_lu.default)
def lu(x: Tensor, *, pivot: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """The permutation and both factors, whose product is x."""
    require(pivot, "factors without pivots")
    packed, order, _ = factored(x)
    return permutation(order, x), *both(packed)


@torch(aten.lu_unpack.default)
def lu_unpack(
    packed: Tensor, pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Tensor | NotComputed, Tensor | NotComputed, Tensor | NotComputed]:
    """The permutation and both factors that `linalg_lu_factor` gave; what is not asked for is
    empty in PyTorch."""
    require(unpack_data and unpack_pivots, "empty results for factors that are not asked for")
    require_small(packed)
    return permutation(order_of(pivots, packed), packed), *both(packed)


@torch(aten.linalg_lu_solve.default)
def lu_solve(
    packed: Tensor, pivots: Tensor, b: Tensor, *, left: bool = True, adjoint: bool = False
) -> Tensor:
    """The solutions of the systems, or of those of the transposes, of factored matrices."""
    require_small(packed)
    right = b if left else ops.transpose(b)
    moved = permutation(order_of(pivots, packed), packed)
    if adjoint == left:  # of the transposes
        middle = solve_triangular(ops.transpose(packed), right, upper=False)
        last = solve_triangular(ops.transpose(packed), middle, upper=True, unitriangular=True)
        found = ops.matmul(moved, last)
    else:
        first = solve_triangular(
            packed, ops.matmul(ops.transpose(moved), right), upper=False, unitriangular=True
        )
        found = solve_triangular(packed, first, upper=True)
    return found if left else ops.transpose(found)


def both(packed: Tensor) -> tuple[Tensor, Tensor]:
    """The lower factors, with ones on their diagonals, and the upper ones."""
    rows, columns = packed.shape[-2:]
    assert isinstance(rows, int)
    assert isinstance(columns, int)
    few = min(rows, columns)
    column = ops.iota(few, device=packed.device)
    row = ops.reshape(ops.iota(rows, device=packed.device), (-1, 1))
    below = ops.tril(ops.slice(packed, -1, 0, few), -1)
    lower = ops.where(ops.equal(row, column), 1, below, dtype=packed.dtype)
    return lower, ops.triu(ops.slice(packed, -2, 0, few))


def permutation(order: Tensor, x: Tensor) -> Tensor:
    """The matrices that bring rows of a product to their places in x."""
    row = ops.reshape(ops.iota(x.shape[-2], device=x.device), (-1, 1))
    return ops.cast(ops.equal(row, ops.unsqueeze(order, -2)), x.dtype)


def order_of(pivots: Tensor, x: Tensor) -> Tensor:
    """Which row each one is after exchanges: row i with row pivots[..., i] - 1, one by one."""
    rows, steps = x.shape[-2], pivots.shape[-1]
    place = ops.iota(rows, device=x.device)
    taken = ops.reshape(ops.cast(ops.subtract(pivots, 1), i64), (-1, steps))
    start = ops.expand(place, (taken.shape[0], rows))

    def exchange(iteration: Tensor, now: Tensor) -> tuple[None, Sequence[Tensor], Sequence[Tensor]]:
        other = ops.take(taken, [None, ops.reshape(iteration, (1,))])
        first = ops.take(now, [None, ops.reshape(iteration, (1,))])
        behind = ops.where(ops.equal(place, other), first, now)
        return (
            None,
            (ops.where(ops.equal(place, iteration), ops.gather(now, 1, other), behind),),
            (),
        )

    (found,), _, _ = ops.loop(exchange, (start,), trips=steps)
    return ops.reshape(found, (*pivots.shape[:-1], rows))
