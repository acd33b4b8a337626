"""Which factors of matrices a frontend leaves to its framework."""

from __future__ import annotations

from hidet.errors import NotYet
from hidet.graph import Tensor

FEW = 64
"""Rows up to which matrices on a GPU are eliminated column by column; libraries of linear algebra,
which take many columns at once, are faster beyond by more than what a step of their own costs."""
FEW_ON_CPU = 16
"""The same on a CPU, where LAPACK takes a seventh of the time for 32 rows."""


def require_few(x: Tensor) -> None:
    """NotYet of matrices of more rows or columns than that, or of a dynamic number."""
    most = FEW_ON_CPU if x.device == "cpu" else FEW
    if not all(isinstance(size, int) and size <= most for size in x.shape[-2:]):
        raise NotYet(
            f"factors of matrices of more than {most} rows or columns, or a dynamic number"
        )
