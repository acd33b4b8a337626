"""A kernel in hidet script as an operator of PyTorch, in two ways.

As a torch.autograd.Function it can be called, and differentiated. As an operator of torch.library
it also has a meaning for tensors without memory, so that torch.compile(backend="hidet") can
compile what stands around it. Without a GPU the kernel runs in the simulator, on the CPU.

Run it: python examples/torch_operator.py
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

import hidet
from hidet.lang import attr, f32
from hidet.lang.cuda import blockDim, blockIdx, threadIdx

TARGET = None if torch.cuda.is_available() else "sim"
DEVICE = "cpu" if TARGET else "cuda"


@cache
def matmul(m_size: int, n_size: int, k_size: int) -> Any:
    """The product of (m, k) and (k, n) as a function of three tensors."""
    with hidet.script_module() as script_module:

        @hidet.script
        def matmul(a: f32[m_size, k_size], b: f32[k_size, n_size], c: f32[m_size, n_size]):
            attr.cuda_grid_dim = ((m_size + 31) // 32, (n_size + 31) // 32)
            attr.cuda_block_dim = (32, 32)
            i = threadIdx.x + blockIdx.x * blockDim.x
            j = threadIdx.y + blockIdx.y * blockDim.y
            if i < m_size and j < n_size:
                c[i, j] = 0.0
                for k in range(k_size):
                    c[i, j] += a[i, k] * b[k, j]

    return hidet.driver.build_ir_module(script_module.ir_module(), target=TARGET)


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The kernel on two tensors, into a new one."""
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty([m, n], dtype=a.dtype, device=a.device)
    matmul(m, n, k)(a.contiguous(), b.contiguous(), c)
    return c


class NaiveMatmul(torch.autograd.Function):
    """The product, with its gradients, which are products too."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(a, b)
        return product(a, b)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        a, b = ctx.saved_tensors
        return product(grad, b.T), product(a.T, grad)


@torch.library.custom_op("hidet_examples::matmul", mutates_args=())
def matmul_operator(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product as an operator that PyTorch's compilers leave as it is."""
    return product(a, b)


@matmul_operator.register_fake
def _(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.new_empty(a.shape[0], b.shape[1])


def network(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """The operator between others."""
    return torch.relu(matmul_operator(torch.tanh(x), w) + bias)


def main() -> None:
    """Call both, differentiate the one, compile around the other."""
    torch.manual_seed(0)
    a = torch.randn([3, 4], device=DEVICE, requires_grad=True)
    b = torch.randn([4, 5], device=DEVICE, requires_grad=True)
    c = NaiveMatmul.apply(a, b)
    torch.testing.assert_close(c, torch.matmul(a, b))
    c.sum().backward()
    torch.testing.assert_close(a.grad, b.sum(1).expand(3, 4))
    print("the autograd function agrees with torch.matmul, and so do its gradients")

    bias = torch.randn(5, device=DEVICE)
    torch.library.opcheck(matmul_operator, (a.detach(), b.detach()))
    compiled = torch.compile(network, backend="hidet")
    with torch.no_grad():
        torch.testing.assert_close(
            compiled(a, b, bias), torch.relu(torch.tanh(a) @ b + bias), rtol=1e-4, atol=1e-5
        )
    print("the custom operator composes with torch.compile(backend='hidet')")


if __name__ == "__main__":
    main()
