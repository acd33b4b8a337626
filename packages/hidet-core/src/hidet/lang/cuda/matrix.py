"""Products on tensor cores, by whole warps, and the loads and stores of their operands.

Fragments are register tensors (or addresses in one); `hidet.mapping.fragments` says which lane
holds which element. Rows are addresses in shared memory.
"""

from __future__ import annotations

from typing import Any

from hidet.ir.expr import Expr
from hidet.lang.cuda.invoke import invoke


def mma_sync(a: Any, b: Any, c: Any, shape: str = "m16n8k16") -> None:
    """c += a · b for one tile: "m16n8k16" (f16, bf16) or "m16n8k8" (also tf32), c in f32 or f16."""
    invoke("mma_sync", a, b, c, options=(shape,))


def ldmatrix(registers: Any, row: Expr, matrices: int = 4, transposed: bool = False) -> None:
    """Load 1, 2 or 4 matrices of 8 × 8 16-bit elements, two elements of each in every lane.

    Lane 8·i + r gives the address of row r of matrix i.
    """
    invoke("ldmatrix", registers, row, options=(matrices, transposed))


def stmatrix(row: Expr, registers: Any, matrices: int = 4, transposed: bool = False) -> None:
    """Store 1, 2 or 4 matrices of 8 × 8 16-bit elements: the reverse of `ldmatrix` (sm_90)."""
    invoke("stmatrix", row, registers, options=(matrices, transposed))
