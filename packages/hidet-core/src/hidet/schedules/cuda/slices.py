"""Split-K: the kernel that adds up the partials of all blocks."""

from __future__ import annotations

from typing import Any

from hidet.lang import Global, ScriptFunction, attr, cdiv, register_tensor, script, vectorize
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.schedules.assemble import operand_type
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.epilogue import Epilogue
from hidet.types import DType, TensorType

THREADS = 128
VECTOR = 4


def slices_type(p: Contraction, wide: DType, block: tuple[int, int], slices: int) -> TensorType:
    """Split-K partials of whole tiles, for each part of k."""
    rows, columns = (
        cdiv(size, extent) * extent for size, extent in zip((p.m, p.n), block, strict=True)
    )
    of: TensorType = wide[slices, p.batch, rows, columns]
    return of


def add_slices(name: str, p: Contraction, partial_type: TensorType) -> ScriptFunction:
    """The kernel that adds split-K partials in order and writes the result."""
    slices: Any = partial_type.shape[0]
    wide, bias_type = partial_type.dtype, operand_type(p.bias, p.c)
    columns = cdiv(p.n, VECTOR)

    @script(bias=bias_type, partial=partial_type, c=p.c)
    def add(bias: Global, partial: Global, c: Global) -> None:
        attr.func_name = f"{name}_slices"
        attr.cuda_grid_dim = (cdiv(p.m * columns, THREADS), p.batch)
        attr.cuda_block_dim = THREADS
        number, z = blockIdx.x * THREADS + threadIdx.x, blockIdx.y
        if number < p.m * columns:
            i, j = number // columns, number % columns * VECTOR
            total = register_tensor(wide, (VECTOR,), init=0)
            for split in range(slices):
                for v in vectorize(VECTOR):
                    total[v] += partial[split, z, i, j + v]
            for v in vectorize(VECTOR):
                Epilogue(p, bias, c).write(total[v], z, i, j, v)

    return add
