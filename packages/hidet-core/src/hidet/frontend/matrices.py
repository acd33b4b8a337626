"""Which factors of matrices a frontend leaves to its framework."""

from __future__ import annotations

from hidet.errors import NotYet
from hidet.graph import Tensor

FEW = 64
"""Rows up to which matrices are eliminated column by column; libraries of linear algebra, which
take many columns at once, are faster beyond by more than what a step of their own costs."""


def require_few(x: Tensor) -> None:
    """NotYet of matrices of more rows than that, or of an open number."""
    if not isinstance(x.shape[-1], int) or x.shape[-1] > FEW:
        raise NotYet(f"factors of matrices of more than {FEW} rows, or an open number")
