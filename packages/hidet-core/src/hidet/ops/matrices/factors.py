"""Triangular factors of square matrices, and triangular systems of equations.

Each is a loop over columns that changes the whole matrix in one iteration: as many iterations as
there are columns, for any number of matrices at once, on every target. A matrix that
has no such factors raises no error: divisions by zero give infinities or NaN, roots of negative
numbers give NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hidet.compute.sizes import agree, product, same
from hidet.errors import DtypeMismatch, NotYet, ShapeMismatch
from hidet.graph import Tensor
from hidet.ops.elementwise.binary import logical_and
from hidet.ops.elementwise.compare import equal, greater, greater_equal
from hidet.ops.elementwise.select import where
from hidet.ops.elementwise.unary import absolute, sqrt
from hidet.ops.flow.loops import loop
from hidet.ops.indexing.index import gather, take
from hidet.ops.reductions.reduce import argmax
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import iota
from hidet.ops.tensors.joining import concat
from hidet.ops.tensors.shape import expand, permute, reshape, transpose
from hidet.ops.tensors.slicing import flip, slice
from hidet.types import Size, f32, f64


class Factors(NamedTuple):
    """Matrices with their rows exchanged, each as the product of a lower and an upper one."""

    packed: Tensor
    """[..., n, n]: the upper factors, and below their diagonals the lower ones, whose own is 1."""
    order: Tensor
    """int64 [..., n]: which row of the matrix is row i of the product."""
    pivots: Tensor
    """int64 [..., n]: the row that step i exchanged with row i."""
    rest: Tensor
    """[..., n, m]: what is left of the right-hand sides: systems of the upper factors."""


def lu(x: Tensor, right: Tensor | None = None) -> Factors:
    """The factors of the matrices x[..., n, n], by elimination with the largest pivots.

    `right` [..., n, m] are right-hand sides, in which rows are exchanged and eliminated as in x;
    without them there are none (m = 0). float16 and bfloat16 are computed, and given, as float32.
    Raises ShapeMismatch or DtypeMismatch.
    """
    matrices = batched(x, "lu")
    size = matrices.shape[-1]
    whole = matrices if right is None else concat((matrices, sides(x, right, "lu")), -1)
    row = reshape(iota(size, device=x.device), (-1, 1))
    column = iota(whole.shape[-1], device=x.device)
    order = expand(reshape(row, (1, -1)), whole.shape[:2])

    def eliminate(
        iteration: Tensor, now: Tensor, order: Tensor
    ) -> tuple[None, Sequence[Tensor], Sequence[Tensor]]:
        below = element(now, iteration, -1)
        candidates = where(greater_equal(row, iteration), absolute(below), -1.0)
        place = argmax(candidates, 1, keepdims=True)  # [b, 1, 1]
        first, pivot = element(now, iteration, 1), gather(now, 1, expand(place, first_row(now)))
        is_first, is_pivot = equal(row, iteration), equal(row, place)
        exchanged = where(is_first, pivot, where(is_pivot, first, now))
        divisor = element(pivot, iteration, -1)
        # A pivot of zero is one of a column of zeros: then there is nothing to take out.
        factor = element(exchanged, iteration, -1) / where(equal(divisor, 0.0), 1.0, divisor)
        left = where(greater(column, iteration), exchanged - factor * pivot, exchanged)
        left = where(equal(column, iteration), factor, left)
        places = reshape(place, (-1, 1))
        at = reshape(row, (1, -1))
        others = where(equal(at, places), element(order, iteration, -1), order)
        order = where(equal(at, iteration), gather(order, 1, places), others)
        return None, (where(greater(row, iteration), left, exchanged), order), (places,)

    found, places = whole, order
    if not same(size, 0):  # of nothing there is no largest
        (found, order), (places,), _ = loop(eliminate, (whole, order), trips=size)
        places = permute(reshape(places, (size, -1)), (1, 0))
    before = x.shape[:-2]
    return Factors(
        reshape(slice(found, -1, 0, size), x.shape),
        reshape(order, x.shape[:-1]),
        reshape(places, x.shape[:-1]),
        reshape(slice(found, -1, size), (*before, size, 0 if right is None else right.shape[-1])),
    )


def cholesky(x: Tensor) -> Tensor:
    """The lower triangular matrices l[..., n, n] with l @ transpose(l) = x; above they are 0.

    x is symmetric and positive definite; only its lower triangle is read. Otherwise rows become
    NaN. Raises ShapeMismatch or DtypeMismatch.
    """
    matrices = batched(x, "cholesky")
    size = matrices.shape[-1]
    column = iota(size, device=x.device)
    row = reshape(column, (-1, 1))

    def iteration_column(
        iteration: Tensor, now: Tensor
    ) -> tuple[None, Sequence[Tensor], Sequence[Tensor]]:
        below = element(now, iteration, -1)
        below = below / sqrt(element(below, iteration, 1))
        beyond = logical_and(greater(row, iteration), greater(column, iteration))
        left = where(beyond, now - below * transpose(below), now)
        is_column = logical_and(equal(column, iteration), greater_equal(row, iteration))
        return None, (where(is_column, below, left),), ()

    (found,), _, _ = loop(iteration_column, (matrices,), trips=size)
    return cast(reshape(where(greater_equal(row, column), found, 0.0), x.shape), x.dtype)


def triangular_solve(
    a: Tensor, b: Tensor, *, lower: bool = True, unit_diagonal: bool = False
) -> Tensor:
    """The x[..., n, m] with a @ x = b, of triangular matrices a[..., n, n].

    The other triangle is not read, nor the diagonal where it is said to be 1. The axes ahead are
    the same. Raises ShapeMismatch or DtypeMismatch.
    """
    matrices = batched(a, "triangular_solve")
    right = sides(a, b, "triangular_solve")
    size = matrices.shape[-1]
    if not lower:  # turned by half a turn an upper matrix is a lower one
        matrices, right = flip(matrices, (1, 2)), flip(right, 1)
    row = reshape(iota(size, device=a.device), (-1, 1))

    def substitute(
        iteration: Tensor, now: Tensor
    ) -> tuple[None, Sequence[Tensor], Sequence[Tensor]]:
        column, solved = element(matrices, iteration, -1), element(now, iteration, 1)
        if not unit_diagonal:
            solved = solved / element(column, iteration, 1)
        left = where(greater(row, iteration), now - column * solved, now)
        return None, (where(equal(row, iteration), solved, left),), ()

    (found,), _, _ = loop(substitute, (right,), trips=size)
    return cast(reshape(found if lower else flip(found, 1), b.shape), b.dtype)


def element(x: Tensor, iteration: Tensor, axis: int) -> Tensor:
    """The column, or row, of an iteration, which stays an axis of size 1."""
    axis %= x.ndim
    return take(x, [*[None] * axis, reshape(iteration, (1,))])


def first_row(x: Tensor) -> Sequence[Size]:
    """The shape of one row of each matrix."""
    return (x.shape[0], 1, x.shape[2])


def batched(x: Tensor, name: str) -> Tensor:
    """Square matrices as [b, n, n], in the type that they are computed in."""
    require_square(x, name)
    wide = cast(x, f64 if x.dtype is f64 else f32)
    return reshape(wide, (product(x.shape[:-2]), *x.shape[-2:]))


def require_square(x: Tensor, name: str) -> None:
    """Raise ShapeMismatch or DtypeMismatch of what are no square matrices of floats."""
    if x.ndim < 2 or not agree(x.shape[-1], x.shape[-2]):
        raise ShapeMismatch(f"{name} takes square matrices, not {x.type}")
    if not x.dtype.is_float:
        raise DtypeMismatch(f"{name} does not take {x.dtype.name}")


def known_sizes(x: Tensor, name: str) -> tuple[int, int]:
    """The rows and columns of matrices of floats; ShapeMismatch or DtypeMismatch of what are none,
    NotYet of those that only calls know."""
    if x.ndim < 2:
        raise ShapeMismatch(f"{name} takes matrices, not {x.type}")
    if not x.dtype.is_float:
        raise DtypeMismatch(f"{name} does not take {x.dtype.name}")
    rows, columns = x.shape[-2:]
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise NotYet(f"{name} of a dynamic number of rows or columns")
    return rows, columns


def sides(a: Tensor, b: Tensor, name: str) -> Tensor:
    """Right-hand sides [..., n, m] of matrices a[..., n, n] as [b, n, m], in the type of these."""
    fits = b.ndim == a.ndim and all(map(agree, b.shape[:-1], a.shape[:-1]))
    if not fits:
        raise ShapeMismatch(f"{name} takes right-hand sides [..., n, m] for {a.type}, not {b.type}")
    if b.dtype is not a.dtype:
        raise DtypeMismatch(f"{name} takes operands of one type, not {a.type} and {b.type}")
    wide = cast(b, f64 if b.dtype is f64 else f32)
    return reshape(wide, (product(b.shape[:-2]), *b.shape[-2:]))
