"""Which factors of matrices a frontend leaves to its framework."""

from __future__ import annotations

from hidet.errors import NotYet
from hidet.graph import Tensor

FEW = 64
"""Rows up to which matrices on a GPU are eliminated column by column; libraries of linear algebra,
which take many columns at once, are faster beyond by more than what a step of their own costs."""
FEW_ON_CPU = 16
"""The same on a CPU, where LAPACK takes a seventh of the time for 32 rows."""


def most_rows(device: str) -> int:
    """How many rows matrices on a device may have."""
    return FEW_ON_CPU if device == "cpu" else FEW


def require_few(x: Tensor) -> None:
    """NotYet of matrices of more rows than that, or of an open number."""
    most = most_rows(x.device)
    if not isinstance(x.shape[-1], int) or x.shape[-1] > most:
        raise NotYet(f"factors of matrices of more than {most} rows, or an open number")
