"""A matmul written in hidet script, run by the simulator: no GPU is needed.

Each thread computes one element. The simulator runs every thread of every block, and would name
the line, block and thread of an access out of bounds, a race or a value that was never set.

Run it: python examples/script_matmul.py
"""

from __future__ import annotations

from typing import Any

import numpy as np

import hidet
from hidet.lang import attr, f32
from hidet.lang.cuda import blockDim, blockIdx, threadIdx
from hidet.sim import OutOfBounds, launch


def matmul(m_size: int, n_size: int, k_size: int, guarded: bool = True) -> Any:
    """A module with the product of (m, k) and (k, n); unguarded, it forgets the ragged edges."""
    with hidet.script_module() as script_module:

        @hidet.script
        def matmul(a: f32[m_size, k_size], b: f32[k_size, n_size], c: f32[m_size, n_size]):
            attr.cuda_grid_dim = ((m_size + 31) // 32, (n_size + 31) // 32)
            attr.cuda_block_dim = (32, 32)
            i = threadIdx.x + blockIdx.x * blockDim.x
            j = threadIdx.y + blockIdx.y * blockDim.y
            if not guarded or (i < m_size and j < n_size):
                c[i, j] = 0.0
                for k in range(k_size):
                    c[i, j] += a[i, k] * b[k, j]

    return script_module.ir_module()


def main() -> None:
    """Run the kernel on sizes that blocks do not divide, then one with its guard forgotten."""
    random = np.random.default_rng(0)
    a = random.standard_normal((40, 24), dtype=np.float32)
    b = random.standard_normal((24, 50), dtype=np.float32)
    c = np.zeros((40, 50), dtype=np.float32)
    print(launch(matmul(40, 50, 24), a, b, c))
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-5)
    print("the product agrees with numpy")
    try:
        launch(matmul(40, 50, 24, guarded=False), a, b, c)
    except OutOfBounds as error:
        print(error)


if __name__ == "__main__":
    main()
