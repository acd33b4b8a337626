"""The kernel of the introduction, as it is written there."""

# fmt: off
# ruff: noqa: PLC0415, I001

import numpy as np

import hidet
from hidet.sim import launch


def matmul(m_size, n_size, k_size):
    from hidet.lang import f32, attr
    from hidet.lang.cuda import threadIdx, blockIdx, blockDim

    with hidet.script_module() as script_module:
        @hidet.script
        def matmul(
            a: f32[m_size, k_size],
            b: f32[k_size, n_size],
            c: f32[m_size, n_size]
        ):
            attr.cuda_grid_dim = ((m_size + 31) // 32, (n_size + 31) // 32)
            attr.cuda_block_dim = (32, 32)
            i = threadIdx.x + blockIdx.x * blockDim.x
            j = threadIdx.y + blockIdx.y * blockDim.y
            if i < m_size and j < n_size:
                c[i, j] = 0.0
                for k in range(k_size):
                    c[i, j] += a[i, k] * b[k, j]

    return script_module.ir_module()


EXPECTED = """\
module matmul(a: f32[3, 4], b: f32[4, 5], c: f32[3, 5]):
  launch matmul(a, b, c)
cuda kernel matmul(a: f32[3, 4], b: f32[4, 5], c: f32[3, 5]):
  # grid (1, 1, 1), block (32, 32, 1)
  i: i32 = (threadIdx.x + (blockIdx.x * blockDim.x))
  j: i32 = (threadIdx.y + (blockIdx.y * blockDim.y))
  if ((i < 3) and (j < 5)):
    c[i, j] = 0.0
    for k in 4:
      c[i, j] = (c[i, j] + (a[i, k] * b[k, j]))"""


def test_it_becomes_a_module():
    assert str(matmul(3, 5, 4)) == EXPECTED


def test_it_multiplies():
    random = np.random.default_rng(0)
    a, b = (random.standard_normal(s).astype(np.float32) for s in ((3, 4), (4, 5)))
    c = np.full((3, 5), np.nan, np.float32)
    launch(matmul(3, 5, 4), a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-6)
