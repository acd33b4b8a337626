"""The kernel of the introduction, built and called as it is written there."""

# fmt: off
# ruff: noqa: PLC0415, I001


import numpy as np
import pytest

import hidet
from hidet.lang import attr, f32
from hidet.lang.cuda import threadIdx


def matmul(m_size, n_size, k_size, **options):
    from hidet.lang.cuda import blockIdx, blockDim

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

    ir_module = script_module.ir_module()
    func = hidet.driver.build_ir_module(ir_module, **options)
    return func


def operands():
    random = np.random.default_rng(0)
    return [random.standard_normal(s).astype(np.float32) for s in ((3, 4), (4, 5))]


def test_in_the_simulator():
    a, b = operands()
    c = np.full((3, 5), np.nan, np.float32)
    matmul(3, 5, 4, target="sim")(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-6)


@pytest.mark.gpu
def test_on_the_gpu():
    from hidet.runtime.binding.memory import array_of, to_device
    a, b = operands()
    views = [to_device(each, "cuda:0") for each in (a, b, np.full((3, 5), np.nan, np.float32))]
    matmul(3, 5, 4)(*views)
    np.testing.assert_allclose(array_of(views[2]), a @ b, rtol=1e-5)


@pytest.mark.gpu
def test_as_an_operator_of_pytorch():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")

    class NaiveMatmul(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            m, k = a.shape
            k, n = b.shape
            c = torch.empty([m, n], dtype=a.dtype, device=a.device)
            func = matmul(m, n, k)
            func(a, b, c)
            return c

    a = torch.randn([3, 4], device='cuda')
    b = torch.randn([4, 5], device='cuda')
    torch.testing.assert_close(NaiveMatmul.apply(a, b), torch.matmul(a, b))
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        c = NaiveMatmul.apply(a, b)
    side.synchronize()
    torch.testing.assert_close(c, torch.matmul(a, b))
    milliseconds = hidet.utils.benchmark_func(lambda: NaiveMatmul.apply(a, b))
    assert 0 < milliseconds < 1000
