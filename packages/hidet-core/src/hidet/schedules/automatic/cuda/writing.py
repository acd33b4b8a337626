"""Statements of definitions in the kernels that scripts write."""

from __future__ import annotations

from collections.abc import Iterable

from hidet.ir.stmt import Stmt
from hidet.lang.recorder import current


def write(statements: Iterable[Stmt]) -> None:
    """Add statements to the script that is being transcribed."""
    recorder = current("a statement")
    for each in statements:
        recorder.emit(each)
