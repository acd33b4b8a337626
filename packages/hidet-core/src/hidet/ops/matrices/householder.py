"""QR factorisation by Householder reflections, in LAPACK's form.

Each step mirrors the rows so that what is below the diagonal of one column becomes zero; a mirror
is 1 - t · v · transpose(v), with v[i] = 1 in step i and 0 above. All is computed in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hidet.compute.sizes import product
from hidet.graph import Tensor
from hidet.ops.elementwise.binary import copysign
from hidet.ops.elementwise.compare import equal, greater
from hidet.ops.elementwise.select import triu, where
from hidet.ops.elementwise.unary import sqrt
from hidet.ops.flow.loops import loop
from hidet.ops.matrices.factors import element, known_sizes
from hidet.ops.reductions.reduce import sum
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import full, iota
from hidet.ops.tensors.shape import expand, permute, reshape
from hidet.ops.tensors.slicing import slice
from hidet.types import f64


class Reflections(NamedTuple):
    """The steps of a factorisation of matrices [..., m, n]."""

    packed: Tensor
    """[..., m, n]: the upper factor, and below its diagonal what each v has below its 1."""
    scales: Tensor
    """[..., min(m, n)]: the t of each step."""


def reflections(x: Tensor) -> Reflections:
    """The Householder reflections that make the matrices x[..., m, n] upper triangular.

    The type is that of x, a float; the sizes of the matrices are known when the graph is made.
    Raises ShapeMismatch, DtypeMismatch, or NotYet for symbolic sizes.
    """
    rows, columns = known_sizes(x, "qr")
    steps, count = min(rows, columns), product(x.shape[:-2])
    row = reshape(iota(rows, device=x.device), (-1, 1))
    column = iota(columns, device=x.device)

    def mirror(iteration: Tensor, now: Tensor) -> tuple[None, Sequence[Tensor], Sequence[Tensor]]:
        own = element(now, iteration, -1)  # [b, m, 1]
        below, first = where(greater(row, iteration), own, 0.0), element(own, iteration, 1)
        rest = sum(below * below, 1, keepdims=True)
        is_done = equal(rest, 0.0)
        length = copysign(sqrt(first * first + rest), first)
        last = where(is_done, first, -length)
        scale = where(is_done, 0.0, (last - first) / where(is_done, 1.0, last))
        v = below / where(is_done, 1.0, first - last)
        v = where(equal(row, iteration), 1.0, v)
        left = now - v * (scale * sum(v * now, 1, keepdims=True))
        made = where(equal(row, iteration), last, where(greater(row, iteration), v, own))
        now = where(greater(column, iteration), left, where(equal(column, iteration), made, now))
        return None, (now,), (reshape(scale, (count,)),)

    found = reshape(cast(x, f64), (count, rows, columns))
    scales = full((0, count), 0, f64, device=x.device)
    if steps:
        (found,), (scales,), _ = loop(mirror, (found,), trips=steps)
    scales = reshape(permute(scales, (1, 0)), (*x.shape[:-2], steps))
    return Reflections(cast(reshape(found, x.shape), x.dtype), cast(scales, x.dtype))


def reflected(steps: Reflections, y: Tensor, *, backwards: bool = False) -> Tensor:
    """Q @ y for the orthogonal matrix Q that the reflections make; transpose(Q) @ y if `backwards`.

    y is [..., m, p] with the leading axes of `steps`; the type is that of y. Raises what
    `reflections` raises.
    """
    rows, columns = known_sizes(y, "qr")
    iterations, count = steps.scales.shape[-1], product(y.shape[:-2])
    row = reshape(iota(rows, device=y.device), (-1, 1))
    whole = reshape(cast(steps.packed, f64), (count, *steps.packed.shape[-2:]))
    scales = reshape(cast(steps.scales, f64), (count, iterations, 1))
    assert isinstance(iterations, int), "sizes are known"

    def mirror(iteration: Tensor, now: Tensor) -> tuple[None, Sequence[Tensor], Sequence[Tensor]]:
        at = iteration if backwards else (iterations - 1) - iteration
        v = where(greater(row, at), element(whole, at, -1), 0.0)
        v = where(equal(row, at), 1.0, v)
        scale = element(scales, at, 1)
        return None, (now - v * (scale * sum(v * now, 1, keepdims=True)),), ()

    found = reshape(cast(y, f64), (count, rows, columns))
    if iterations:
        (found,), _, _ = loop(mirror, (found,), trips=iterations)
    return cast(reshape(found, y.shape), y.dtype)


def qr(x: Tensor, *, complete: bool = False) -> tuple[Tensor, Tensor]:
    """q[..., m, k] with orthogonal columns of length 1 and an upper triangular r[..., k, n], whose
    matmul q @ r is x[..., m, n]; k is m if `complete`, else the smaller of m and n.

    Raises what `reflections` raises.
    """
    rows, columns = known_sizes(x, "qr")
    width = rows if complete else min(rows, columns)
    wide = reflections(cast(x, f64))
    upper = triu(slice(wide.packed, -2, 0, width))
    return cast(reflected(wide, eye(x, width)), x.dtype), cast(upper, x.dtype)


def eye(x: Tensor, columns: int) -> Tensor:
    """f64 [..., m, columns]: ones on the diagonals, of as many matrices as x[..., m, n] has."""
    rows, _ = known_sizes(x, "qr")
    row = reshape(iota(rows, device=x.device), (-1, 1))
    one = cast(equal(row, iota(columns, device=x.device)), f64)
    return expand(one, (*x.shape[:-2], rows, columns))
