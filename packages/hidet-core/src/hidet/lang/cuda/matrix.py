"""Products on tensor cores, by whole warps, and the loads and stores of their operands.

Fragments are register tensors (or addresses in one); `hidet.mapping.fragments` says which lane
holds which element. Rows are addresses in shared memory.
"""

from __future__ import annotations

from typing import Any

from hidet.ir.expr import Expr
from hidet.lang.cuda.invoke import invoke


def mma_sync(a: Any, b: Any, c: Any, shape: str = "m16n8k16", saturate: bool = False) -> None:
    """c += a · b for one tile (PTX ISA: mma). Shapes by the types of a and b, and of c:

    f16, bf16: "m16n8k8" "m16n8k16", c in f32, for f16 also in f16; tf32: "m16n8k4" "m16n8k8", c in
    f32; f64: "m8n8k4" "m16n8k4" "m16n8k8" "m16n8k16" (the last three sm_90); i8 and u8, mixed if
    you like: "m8n8k16" "m16n8k16" "m16n8k32", c in i32, which wraps around unless `saturate`;
    f8e4m3 and f8e5m2, mixed: "m16n8k16" "m16n8k32", c in f32 or f16 (sm_89).
    """
    invoke("mma_sync", a, b, c, options=(shape, "saturate") if saturate else (shape,))


def ldmatrix(registers: Any, row: Expr, matrices: int = 4, transposed: bool = False) -> None:
    """Load 1, 2 or 4 matrices of 8 rows of 16 bytes, a 32-bit word of each in every lane.

    Lane 8·i + r gives the address of row r of matrix i; rows of 16-bit elements can be transposed.
    PTX ISA: ldmatrix.
    """
    invoke("ldmatrix", registers, row, options=(matrices, transposed))


def stmatrix(row: Expr, registers: Any, matrices: int = 4, transposed: bool = False) -> None:
    """Store 1, 2 or 4 matrices of 8 rows of 16 bytes: the reverse of `ldmatrix` (sm_90).

    PTX ISA: stmatrix.
    """
    invoke("stmatrix", row, registers, options=(matrices, transposed))
