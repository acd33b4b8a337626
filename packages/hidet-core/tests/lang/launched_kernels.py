"""Kernels for host functions to launch, in the simulator and on a GPU."""

import hidet
from hidet.lang import attr, cdiv, f32, script
from hidet.lang.cuda import blockIdx, threadIdx

size = hidet.symbol_var("size")
parts = hidet.symbol_var("parts")
BLOCK = 32


@script
def added(a: f32[size], by: f32):
    attr.cuda_grid_dim = cdiv(size, BLOCK)
    attr.cuda_block_dim = BLOCK
    i = blockIdx.x * BLOCK + threadIdx.x
    if i < size:
        a[i] += by


@script
def halves(a: f32[size], b: f32[parts]):
    """The sum of two neighbours."""
    attr.cuda_grid_dim = cdiv(parts, BLOCK)
    attr.cuda_block_dim = BLOCK
    i = blockIdx.x * BLOCK + threadIdx.x
    if i < parts:
        b[i] = a.get(2 * i) + a.get(2 * i + 1)
