"""Singular values, pseudo-inverses, and eigenvalues of symmetric matrices.

Columns are rotated in pairs until all are orthogonal to each other (one-sided Jacobi): then their
lengths are the singular values. Half of all columns meet the other half in one iteration, so that
a loop changes the whole matrix at once, as those of `factors.py` do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hidet.compute.sizes import product
from hidet.graph import Tensor
from hidet.ops.elementwise.binary import copysign, logical_and, logical_or
from hidet.ops.elementwise.compare import equal, greater, less, not_equal
from hidet.ops.elementwise.select import tril, where
from hidet.ops.elementwise.unary import absolute, sqrt
from hidet.ops.flow.loops import loop
from hidet.ops.indexing.ordering import sort
from hidet.ops.matrices.factors import known_sizes, require_square
from hidet.ops.matrices.linalg import identities
from hidet.ops.products.matmul import matmul
from hidet.ops.reductions.reduce import any, max, sum
from hidet.ops.reductions.statistics import norm
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import full
from hidet.ops.tensors.joining import concat
from hidet.ops.tensors.pad import pad
from hidet.ops.tensors.shape import reshape, transpose
from hidet.ops.tensors.slicing import flip, slice
from hidet.types import boolean, f64

SWEEPS = 30
"""How often all pairs meet at most; usual matrices need six to eight times."""
ALMOST = 1e-7
"""The cosine of two columns of which one more round leaves its square: they are orthogonal."""


class Turned(NamedTuple):
    """Matrices [b, m, n] times rotations, by columns: each is a row here."""

    columns: Tensor
    """f64 [b, n, m]: orthogonal to each other, as long as the singular values, in any order."""
    rotation: Tensor
    """f64 [b, n, n]: the columns of the rotation."""


def singular_values(x: Tensor) -> Tensor:
    """The singular values [..., min(m, n)] of the matrices x[..., m, n], the largest first.

    x is a float of sizes that are known; squares of its elements are to be within float64, in which
    all is computed. Raises ShapeMismatch, DtypeMismatch or NotYet.
    """
    rows, columns = known_sizes(x, "singular_values")
    tall = x if rows >= columns else transpose(x)
    values, _ = sort(lengths(turned(tall, rotations=False)), -1, descending=True)
    return cast(reshape(values, (*x.shape[:-2], min(rows, columns))), x.dtype)


def pseudo_inverse(x: Tensor, least: Callable[[Tensor], Tensor]) -> Tensor:
    """The Moore-Penrose inverses [..., n, m] of the matrices x[..., m, n].

    `least` maps the largest singular values [..., 1] to the bound up to which singular values count
    as zero; both are float64. What x may be, and errors, are those of `singular_values`.
    """
    rows, columns = known_sizes(x, "pseudo_inverse")
    if rows < columns:
        return transpose(pseudo_inverse(transpose(x), least))
    if columns == 0:
        return transpose(x)
    found = turned(x)
    each = reshape(lengths(found), (*x.shape[:-2], columns, 1))
    limit = least(max(each, -2))
    counts = greater(each, reshape(limit, (*limit.shape, 1)))
    factor = where(counts, 1.0 / where(counts, each * each, 1.0), 0.0)
    shape = (*x.shape[:-2], columns, rows)
    turned_back = transpose(reshape(found.rotation, (*shape[:-1], columns)))
    return cast(matmul(turned_back, reshape(found.columns, shape) * factor), x.dtype)


def symmetric_eigenvalues(x: Tensor, *, lower: bool = True) -> Tensor:
    """The eigenvalues [..., n] of symmetric matrices x[..., n, n], the least first; one triangle
    of each is read.

    What x may be, and errors, are those of `singular_values`.
    """
    require_square(x, "symmetric_eigenvalues")
    below = tril(cast(x if lower else transpose(x), f64))
    whole = below + transpose(tril(below, -1))
    # No eigenvalue is larger than the norm: moved by it all are positive, and singular values.
    moved = norm(whole, 2, (-2, -1), keepdims=True)
    found = flip(singular_values(whole + moved * identities(whole)), -1)
    return cast(found - reshape(moved, (*x.shape[:-2], 1)), x.dtype)


def lengths(found: Turned) -> Tensor:
    """f64 [b, n]: the lengths of columns."""
    return sqrt(sum(found.columns * found.columns, -1))


def turned(x: Tensor, *, rotations: bool = True) -> Turned:
    """The matrices x[..., m, n] with orthogonal columns, and the rotations that make them so."""
    rows, columns = known_sizes(x, "turned")
    count = product(x.shape[:-2])
    whole = transpose(reshape(cast(x, f64), (count, rows, columns)))
    if rotations:
        square = full((count, columns, columns), 0, f64, device=x.device)
        whole = concat((whole, identities(square)), -1)
    if count != 0 and rows and columns > 1:
        made = pad(whole, ((0, 0), (0, columns % 2), (0, 0)))  # so that all have a partner
        whole = slice(orthogonal(made, rows), 1, 0, columns)
    return Turned(slice(whole, -1, 0, rows), slice(whole, -1, rows))


def orthogonal(x: Tensor, length: int) -> Tensor:
    """The rows of x[b, n, ...] turned in pairs until their first `length` elements are orthogonal.

    All meet in n - 1 rounds, which begin again until no cosine was large in them.
    """
    size = x.shape[1]
    assert isinstance(size, int), "sizes are known"

    def round(
        number: Tensor, now: Tensor, was_far: Tensor
    ) -> tuple[Tensor, Sequence[Tensor], Sequence[Tensor]]:
        a, b = partners(now)
        cosine, sine, far = rotation(slice(a, -1, 0, length), slice(b, -1, 0, length))
        after = concat((cosine * a - sine * b, sine * a + cosine * b), 1)
        place = number % (size - 1)
        is_far = logical_or(far, logical_and(was_far, not_equal(place, 0)))
        return logical_or(is_far, less(place, size - 2)), (after, is_far), ()

    start, begin = (full((), value, boolean, device=x.device) for value in (False, True))
    (found, _), _, _ = loop(round, (x, start), trips=SWEEPS * (size - 1), go_on=begin)
    return found


def partners(x: Tensor) -> tuple[Tensor, Tensor]:
    """Both halves of the rows of x[b, n, m], which meet: the first one stays, the others move round
    by one place, and are where they were after n - 1 rounds."""
    size = x.shape[1]
    assert isinstance(size, int), "sizes are known"
    half = size // 2
    top, bottom = slice(x, 1, 0, half), slice(x, 1, half)
    if half == 1:
        return top, bottom
    first = concat((slice(top, 1, 0, 1), slice(bottom, 1, 0, 1), slice(top, 1, 1, half - 1)), 1)
    return first, concat((slice(bottom, 1, 1), slice(top, 1, half - 1)), 1)


def rotation(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The cosines and sines [b, n, 1] that make each row of a[b, n, m] orthogonal to that of b, and
    whether one was far from it."""
    aa, bb, ab = (sum(x * y, -1, keepdims=True) for x, y in ((a, a), (b, b), (a, b)))
    is_done = equal(ab, 0.0)
    slope = (bb - aa) / where(is_done, 1.0, ab * 2.0)
    tangent = copysign(1.0 / (absolute(slope) + sqrt(slope * slope + 1.0)), slope)
    tangent = where(is_done, 0.0, tangent)
    cosine = 1.0 / sqrt(tangent * tangent + 1.0)
    far = greater(absolute(ab), sqrt(aa) * sqrt(bb) * ALMOST)
    return cosine, cosine * tangent, any(far)
