"""Products of matrices."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet_torch.converters.elementwise import scaled_sum
from hidet_torch.converters.table import aten, torch
from hidet_torch.converters.whole import LINEAR
from hidet_torch.memory.dtypes import wide


@torch(aten.mm.default, aten.bmm.default, aten.mv.default, aten.dot.default)
def matmul(a: Tensor, b: Tensor) -> Tensor:
    """The product of matrices, stacks of them, or vectors."""
    return ops.matmul(a, b)


@torch(aten.addmm.default, aten.baddbmm.default, aten.addmv.default)
def addmm(x: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * x + alpha * (a @ b); where beta is 0, x does not count, NaN or not."""
    product = ops.matmul(a, b)
    of = product.dtype
    if alpha != 1:
        product = ops.multiply(product, alpha, dtype=wide(of))
    if beta == 0:
        return ops.cast(product, of)
    return scaled_sum(product, x, beta, of)


@torch(aten.linear.default, LINEAR)
def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x times the transposed weight, plus bias."""
    return ops.linear(x, weight, bias)
