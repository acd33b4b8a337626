"""Factors of matrices, systems of equations, inverses and determinants."""

from __future__ import annotations

import torch
from case import aten, case, x
from torch import linalg


def regular(*shape: int) -> torch.Tensor:
    """Matrices that are far from singular ones."""
    return x(*shape) + 5 * torch.eye(shape[-1])


def positive(*shape: int) -> torch.Tensor:
    made = x(*shape)
    return made @ made.mT + torch.eye(shape[-1])


SINGULAR = torch.tensor([[[1.0, 2], [2, 4]], [[1, 2], [3, 4]], [[0, 0], [0, 0]]])

for _size in (1, 2, 7, 13):
    case(
        f"solve {_size}",
        lambda a, b: aten._linalg_solve_ex(a, b),
        regular(_size, _size),
        x(_size, 3),
    )
    case(f"lu_factor {_size}", lambda a: aten.linalg_lu_factor_ex(a), regular(3, _size, _size))
    case(f"lu {_size}", lambda a: linalg.lu(a), x(2, _size, _size))
    case(f"inv {_size}", lambda a: aten.linalg_inv_ex(a), regular(2, _size, _size))
    case(f"det {_size}", lambda a: linalg.det(a / 4), regular(2, _size, _size))
    case(f"slogdet {_size}", lambda a: linalg.slogdet(a), regular(2, 2, _size, _size))
    for _upper in (False, True):
        case(
            f"cholesky {_size} {_upper}",
            lambda a, upper=_upper: aten.linalg_cholesky_ex(a, upper=upper),
            positive(2, _size, _size),
        )
        case(
            f"solve_triangular {_size} {_upper}",
            lambda a, b, upper=_upper: linalg.solve_triangular(a, b, upper=upper),
            *(regular(2, _size, _size), x(_size, 3)),
        )
        case(
            f"solve_triangular from the right {_size} {_upper}",
            lambda a, b, upper=_upper: linalg.solve_triangular(
                a, b, upper=upper, left=False, unitriangular=True
            ),
            *(regular(_size, _size) / 9, x(2, 3, _size)),
        )
        case(
            f"cholesky_solve {_size} {_upper}",
            lambda b, a, upper=_upper: torch.cholesky_solve(b, a, upper=upper),
            *(x(2, _size, 3), regular(2, _size, _size)),
        )
case("solve for a vector", lambda a, b: aten._linalg_solve_ex(a, b)[0], regular(5, 5), x(5))
case("solve for vectors", lambda a, b: aten._linalg_solve_ex(a, b)[0], regular(2, 5, 5), x(2, 5))
case("solve for one vector", lambda a, b: aten._linalg_solve_ex(a, b)[0], regular(2, 5, 5), x(5))
case(
    "solve from the right",
    lambda a, b: aten._linalg_solve_ex(a, b, left=False)[0],
    *(regular(2, 5, 5), x(3, 5)),
)
case("which pivots are zero", lambda a: aten.linalg_inv_ex(a)[1], SINGULAR)
case("which minors are not positive", lambda a: aten.linalg_cholesky_ex(a)[1], SINGULAR)
case("inverses of nothing", lambda a: aten.linalg_inv_ex(a), x(2, 0, 0))
case("determinants of nothing", lambda a: linalg.slogdet(a), x(2, 0, 0))
case("triangular by the older name", torch.triangular_solve, x(5, 2), regular(5, 5))
case(
    "transposed triangular by the older name",
    lambda b, a: torch.triangular_solve(b, a, upper=False, transpose=True),
    *(x(2, 5, 2), regular(5, 5)),
)
for _upper in (False, True):
    case(
        f"inverse by cholesky {_upper}",
        lambda a, upper=_upper: torch.cholesky_inverse(a, upper=upper),
        regular(2, 5, 5),
    )
for _rows, _columns in ((1, 1), (5, 5), (7, 3), (2, 7)):
    _form = f"{_rows} x {_columns}"
    case(f"lu_factor {_form}", lambda a: aten.linalg_lu_factor_ex(a), x(2, _rows, _columns))
    case(f"lu {_form}", lambda a: linalg.lu(a), x(_rows, _columns))
    case(f"lu_unpack {_form}", torch.lu_unpack, *linalg.lu_factor(x(3, _rows, _columns)))
for _left in (False, True):
    for _adjoint in (False, True):
        case(
            f"lu_solve {_left} {_adjoint}",
            lambda f, p, b, left=_left, a=_adjoint: linalg.lu_solve(f, p, b, left=left, adjoint=a),
            *(*linalg.lu_factor(x(2, 5, 5)), x(2, 5, 5)),
        )
