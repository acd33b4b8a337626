# ruff: noqa: E501
"""A block owns a tile of c; a thread keeps its part in registers."""

import numpy as np
import pytest

from hidet.ir.expr import Var
from hidet.lang import (
    attr,
    auto_map,
    cdiv,
    f32,
    register_tensor,
    repeat,
    script,
    script_module,
    shared_tensor,
    spatial,
)
from hidet.lang.cuda import blockIdx, syncthreads, threadIdx
from hidet.mapping import predicated
from hidet.sim import launch
from hidet.types import i32


def tiled_matmul(m, n, k, rows=8, columns=8, depth=4, each=(2, 2)):
    mine = spatial(rows // each[0], columns // each[1]) * repeat(*each)
    copy_a = auto_map(rows, depth, workers=mine.workers)
    copy_b = auto_map(depth, columns, workers=mine.workers)

    with script_module() as module:

        @script
        def matmul(a: f32[m, k], b: f32[k, n], c: f32[m, n]):
            attr.cuda_grid_dim = cdiv(n, columns), cdiv(m, rows)
            attr.cuda_block_dim = mine.workers
            top, left = blockIdx.y * rows, blockIdx.x * columns
            tile_a = shared_tensor(f32, (rows, depth))
            tile_b = shared_tensor(f32, (depth, columns))
            sums = register_tensor(f32, mine, init=0.0)
            for start in range(0, k, depth):
                for i, s in copy_a.on(threadIdx.x):
                    tile_a[i, s] = a.get(top + i, start + s)
                for s, j in copy_b.on(threadIdx.x):
                    tile_b[s, j] = b.get(start + s, left + j)
                syncthreads()
                for s in range(depth):
                    for i, j in mine.on(threadIdx.x):
                        sums[i, j] += tile_a[i, s] * tile_b[s, j]
                syncthreads()
            for i, j in mine.on(threadIdx.x):
                c.put(top + i, left + j, sums[i, j])

    return module.ir_module()


EXPECTED = """\
module matmul(a: f32[m, k], b: f32[k, n], c: f32[m, n]):
  launch matmul(a, b, c)
cuda kernel matmul(a: f32[m, k], b: f32[k, n], c: f32[m, n]):
  # grid (((n + 7) // 8), ((m + 7) // 8), 1), block (16, 1, 1)
  top: i32 = (blockIdx.y * 8)
  left: i32 = (blockIdx.x * 8)
  tile_a: f32[8, 4] shared
  tile_b: f32[4, 8] shared
  sums: f32[2, 2] register = 0.0
  for start in ((k + 3) // 4):
    for i, s in repeat(2, 1) * spatial(4, 4) on threadIdx.x:
      tile_a[i, s] = a.get((top + i), ((start * 4) + s))
    for s_1, j in repeat(2, 1) * spatial(2, 8) on threadIdx.x:
      tile_b[s_1, j] = b.get(((start * 4) + s_1), (left + j))
    syncthreads()
    for s_2 in 4:
      for slot in 2:  # unroll
        for slot_1 in 2:  # unroll
          sums[slot, slot_1] = (sums[slot, slot_1] + (tile_a[(((threadIdx.x // 4) * 2) + slot), s_2] \
* tile_b[s_2, (((threadIdx.x % 4) * 2) + slot_1)]))
    syncthreads()
  for slot_2 in 2:  # unroll
    for slot_3 in 2:  # unroll
      c.put((top + (((threadIdx.x // 4) * 2) + slot_2)), (left + (((threadIdx.x % 4) * 2) + slot_3)), \
sums[slot_2, slot_3])"""


def test_it_reads_as_it_is_written():
    m, n, k = (Var(name, i32) for name in "mnk")
    assert str(tiled_matmul(m, n, k)) == EXPECTED


@pytest.mark.parametrize("shape", [(8, 8, 4), (16, 8, 12), (7, 9, 5), (1, 1, 1)])
def test_it_multiplies(shape):
    m, n, k = shape
    random = np.random.default_rng(0)
    a = random.standard_normal((m, k)).astype(np.float32)
    b = random.standard_normal((k, n)).astype(np.float32)
    c = np.full((m, n), np.nan, np.float32)
    launch(tiled_matmul(*(Var(name, i32) for name in "mnk")), a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5, atol=1e-6)


def test_a_mapping_may_leave_workers_idle():
    mine = predicated(spatial(2, 3) * repeat(2, 1), workers=8, shape=(3, 3))

    @script
    def kernel(c: f32[3, 3]):
        attr.cuda_block_dim = 8
        sums = register_tensor(f32, mine, init=1.0)
        for i, j in mine.on(threadIdx.x):
            sums[i, j] += i * 10 + j
        for i, j in mine.on(threadIdx.x):
            c[i, j] = sums[i, j]

    c = np.zeros((3, 3), np.float32)
    launch(kernel.ir_module(), c)
    np.testing.assert_array_equal(c, [[1, 2, 3], [11, 12, 13], [21, 22, 23]])
