"""Orthogonal factors, singular values, and what is computed from them.

Singular vectors and eigenvectors stay in PyTorch: any sign of them is right, and models get the one
that they were trained with.
"""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.frontend.importing.matrices import FEW
from hidet.graph import Tensor
from hidet.ops.matrices.factors import known_sizes
from hidet.ops.matrices.householder import Reflections, eye
from hidet.ops.matrices.linalg import identities
from hidet.types import DType, f32, f64, i64
from hidet_torch.converters.table import NotComputed, aten, require, torch

EPSILON: dict[DType, float] = {f32: 2.0**-23, f64: 2.0**-52}
"""How far apart the numbers from 1 on are."""


TURNED, MIRRORED = 8, 16
"""Columns up to which singular values, and orthogonal factors, are computed here: as many as LAPACK
is not faster for by more than the step of its own costs. Nor are there more than FEW rows."""


def require_small(*matrices: Tensor, most: int) -> None:
    """Leave to PyTorch what is slower here: large matrices, and sizes that only calls know."""
    for x in matrices:
        sizes = [size for size in x.shape[-2:] if isinstance(size, int)]
        fits = len(sizes) == 2 and min(sizes) <= most and max(sizes) <= FEW
        require(fits, f"factors of more than {most} columns, {FEW} rows, or a dynamic number")
        require(x.dtype in EPSILON or 0 in x.shape, f"factors of {x.dtype.name}")


@torch(aten._linalg_svd.default)
def svd(
    x: Tensor, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None
) -> tuple[Tensor | NotComputed, ...]:
    """The singular values."""
    require_small(x, most=TURNED)
    vectors = NotComputed("singular vectors, whose signs are LAPACK's")
    return vectors, ops.singular_values(x), vectors


@torch(aten._linalg_eigh.default)
def eigh(x: Tensor, uplo: str = "L", compute_v: bool = True) -> tuple[Tensor | NotComputed, ...]:
    """The eigenvalues of symmetric matrices."""
    require_small(x, most=TURNED)
    values = ops.symmetric_eigenvalues(x, lower=uplo.upper() == "L")
    return values, NotComputed("eigenvectors, whose signs are LAPACK's")


@torch(aten.linalg_pinv.atol_rtol_tensor)
def pinv(
    x: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False
) -> Tensor:
    """The inverse of what a matrix does not take to zero: by default to the precision of its
    type."""
    require_small(x, most=TURNED)
    most = max(known_sizes(x, "pinv"))

    def least(largest: Tensor) -> Tensor:
        share = largest * (most * EPSILON[x.dtype])
        absolute = None if atol is None else ops.cast(ops.unsqueeze(atol, -1), f64)
        if rtol is not None:
            share = ops.multiply(largest, ops.cast(ops.unsqueeze(rtol, -1), f64))
        elif absolute is not None:
            share = ops.where(ops.greater(absolute, 0.0), 0.0, share)
        return share if absolute is None else ops.maximum(share, absolute)

    if hermitian:  # PyTorch reads the lower triangles
        below = ops.tril(x)
        x = ops.add(below, ops.transpose(ops.tril(below, -1)))
    return ops.pseudo_inverse(x, least)


@torch(aten.linalg_qr.default)
def qr(x: Tensor, mode: str = "reduced") -> tuple[Tensor | NotComputed, Tensor]:
    """An orthogonal and an upper triangular factor; with `r` the latter alone."""
    require_small(x, most=MIRRORED)
    orthogonal, upper = ops.qr(x, complete=mode == "complete")
    return ops.zeros((0,), x.dtype, device=x.device) if mode == "r" else orthogonal, upper


@torch(aten.geqrf.default)
def geqrf(x: Tensor) -> tuple[Tensor, Tensor]:
    """The upper triangular factor, with the reflections that make it below its diagonal."""
    require_small(x, most=MIRRORED)
    found = ops.reflections(x)
    return found.packed, found.scales


@torch(aten.linalg_householder_product.default)
def householder_product(packed: Tensor, scales: Tensor) -> Tensor:
    """The first columns of the product of reflections."""
    require_small(packed, most=MIRRORED)
    start = ops.cast(eye(packed, known_sizes(packed, "reflections")[1]), packed.dtype)
    return ops.reflected(Reflections(packed, scales), start)


@torch(aten.ormqr.default)
def ormqr(
    packed: Tensor, scales: Tensor, x: Tensor, left: bool = True, transpose: bool = False
) -> Tensor:
    """The product of reflections times x, or x times that product."""
    require_small(packed, x, most=MIRRORED)
    steps = Reflections(packed, scales)
    if left:
        return ops.reflected(steps, x, backwards=transpose)
    turned = ops.reflected(steps, ops.transpose(x), backwards=not transpose)
    return ops.transpose(turned)


TERMS = 18
"""Terms of the exponential's series at which 1/2 is known to float64's last bit."""


@torch(aten.linalg_matrix_exp.default)
def matrix_exp(x: Tensor) -> Tensor:
    """The exponentials of matrices: by the series of a part of each that is small, squared again as
    often as it was halved."""
    whole = ops.cast(x, f64)
    require_small(whole, most=FEW)
    require(0 not in x.shape, "exponentials of nothing")
    size = ops.max(ops.sum(ops.absolute(whole), -1, keepdims=True), (-2, -1), keepdims=True)
    halvings = ops.maximum(ops.ceil(ops.log2(ops.maximum(size, 0.5))) + 1.0, 0.0)
    small = whole * ops.exp2(-halvings)
    one = identities(small)
    found = one
    for term in range(TERMS, 0, -1):
        found = one + ops.matmul(small, found) * (1 / term)

    def square(iteration: Tensor, now: Tensor) -> tuple[None, Sequence[Tensor], Sequence[Tensor]]:
        goes_on = ops.less(ops.cast(iteration, f64), halvings)
        return None, (ops.where(goes_on, ops.matmul(now, now), now),), ()

    (found,), _, _ = ops.loop(square, (found,), trips=ops.cast(ops.max(halvings), i64))
    return ops.cast(found, x.dtype)
