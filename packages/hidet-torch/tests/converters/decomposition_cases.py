"""Orthogonal factors, singular values, and what is computed from them."""

from __future__ import annotations

import torch
from case import aten, case, x
from torch import linalg

DEFICIENT = x(2, 6, 2) @ x(2, 2, 5)
"""Matrices of rank 2."""

for _rows, _columns in ((1, 1), (2, 2), (5, 3), (3, 7), (8, 8), (4, 1)):
    _form = f"{_rows} x {_columns}"
    case(f"svdvals {_form}", linalg.svdvals, x(2, _rows, _columns))
    case(f"pinv {_form}", linalg.pinv, x(2, 3, _rows, _columns))
    case(f"qr {_form}", linalg.qr, x(2, _rows, _columns))
    case(f"complete qr {_form}", lambda a: linalg.qr(a, "complete"), x(_rows, _columns))
    case(f"geqrf {_form}", torch.geqrf, x(2, _rows, _columns))
    case(
        f"householder_product {_form}",
        linalg.householder_product,
        *torch.geqrf(x(2, max(_rows, _columns), _columns)),
    )
case("singular values of deficient ones", linalg.svdvals, DEFICIENT)
case("rank of deficient ones", lambda a: linalg.matrix_rank(a, tol=1e-3), DEFICIENT)
case("pinv of deficient ones", lambda a: linalg.pinv(a, rtol=1e-3), DEFICIENT)
case("pinv of small ones", lambda a: linalg.pinv(a, atol=1e-3), DEFICIENT * 1e-5)
case("pinv by both", lambda a: linalg.pinv(a, atol=1e-3, rtol=0.1), x(5, 4))
case("singular values of zeros", linalg.svdvals, torch.zeros(2, 4, 4))
case("singular values of equals", linalg.svdvals, torch.ones(3, 5))
case("singular values of one size", linalg.svdvals, torch.eye(6) * 3)
case("singular values of nothing", linalg.svdvals, x(2, 4, 0))
case("pinv of nothing", linalg.pinv, x(2, 0, 3))
case("nuclear norm", lambda a: linalg.matrix_norm(a, "nuc"), x(2, 4, 5))
case("condition", linalg.cond, x(3, 5, 5))
case("upper triangular factor alone", lambda a: linalg.qr(a, "r")[1], x(2, 5, 3))
case("a column that is done", linalg.qr, torch.tensor([[-2.0, 1], [0, 3], [0, 0]]))

for _size in (1, 2, 5, 8):
    for _which in ("L", "U"):
        case(
            f"eigvalsh {_size} {_which}",
            lambda a, which=_which: linalg.eigvalsh(a, which),
            x(2, _size, _size),
        )
    case(f"matrix_exp {_size}", torch.matrix_exp, x(3, _size, _size))
case("eigenvalues of both signs", linalg.eigvalsh, torch.tensor([[0.0, 1], [1, 0]]))
case("rank of symmetric ones", lambda a: linalg.matrix_rank(a, hermitian=True), x(5, 5))
case("pinv of symmetric ones", lambda a: linalg.pinv(a, hermitian=True), x(2, 5, 5))
case("exponentials of large and small ones", torch.matrix_exp, x(4, 3, 3) * x(4, 1, 1).exp() / 4)
for _left in (False, True):
    for _transposed in (False, True):
        case(
            f"ormqr {_left} {_transposed}",
            lambda a, t, y, left=_left, turned=_transposed: aten.ormqr(a, t, y, left, turned),
            *(*torch.geqrf(x(5, 3)), x(5, 5)),
        )
