"""Matmuls of matrices, stacks of matrices and vectors."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.graph import Tensor
from hidet.types import f64, i64
from hidet_torch.converters.elementwise import scaled_sum
from hidet_torch.converters.table import aten, require, torch
from hidet_torch.converters.whole import LINEAR
from hidet_torch.memory.dtypes import wide


@torch(aten.mm.default, aten.bmm.default, aten.mv.default)
def matmul(a: Tensor, b: Tensor) -> Tensor:
    """The matmul of matrices, of stacks of them, or of a matrix and a vector.

    On a CPU the vector is a row, times the transposed matrix: kernels for one row read that in
    order.
    """
    if b.ndim == 1 and a.device == "cpu":
        return ops.matmul(b, a, transpose_b=True)
    return ops.matmul(a, b)


@torch(aten.dot.default)
def dot(a: Tensor, b: Tensor) -> Tensor:
    """The sum of products; on a CPU no matmul, whose sums are those of few elements at a time."""
    if a.device != "cpu":
        return ops.matmul(a, b)
    of = a.dtype
    return ops.cast(ops.sum(ops.multiply(a, b, dtype=wide(of))), of)


@torch(aten.addmm.default, aten.baddbmm.default, aten.addmv.default)
def addmm(x: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * x + alpha * (a @ b); where beta is 0, x does not count, NaN or not."""
    product = matmul(a, b)
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


@torch(aten.addbmm.default)
def addbmm(x: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * x + alpha * the sum of matmuls: one matmul of all columns with all rows."""
    batch, rows, inner = a.shape
    columns = ops.reshape(ops.permute(a, (1, 0, 2)), (rows, batch * inner))
    return addmm(x, columns, ops.reshape(b, (batch * inner, b.shape[-1])), beta=beta, alpha=alpha)


@torch(aten._trilinear.default)
def trilinear(
    a: Tensor, b: Tensor, c: Tensor, expand_a: Sequence[int], expand_b: Sequence[int],
    expand_c: Sequence[int], summed: Sequence[int], unroll_dim: int = 1,
) -> Tensor:  # fmt: skip
    """The sum over some axes of the product of three, each with axes of size 1 put in."""
    pairs = zip((a, b, c), (expand_a, expand_b, expand_c), strict=True)
    wide = [ops.unsqueeze(each, tuple(axes)) if axes else each for each, axes in pairs]
    return ops.sum(ops.multiply(ops.multiply(wide[0], wide[1]), wide[2]), tuple(summed))


@torch(aten._cdist_forward.default)
def cdist(a: Tensor, b: Tensor, p: float, compute_mode: int | None = None) -> Tensor:
    """The p-norm of the difference of each row of a and each row of b."""
    return ops.norm(ops.subtract(ops.unsqueeze(a, -2), ops.unsqueeze(b, -3)), p, -1)


PAIRED = 16
"""Rows up to which a CPU computes the distances of all pairs here: a pair is read by its number,
and PyTorch, which goes from row to row, takes a fourth of the time of many."""


@torch(aten._pdist_forward.default)
def pdist(x: Tensor, p: float = 2) -> Tensor:
    """The p-norm of the difference of each pair of rows, those of the first row first."""
    rows = x.shape[0]
    require(isinstance(rows, int), "pairs of a dynamic number of rows")
    is_small = isinstance(rows, int) and rows <= PAIRED
    require(x.device != "cpu" or is_small, f"distances of the pairs of over {PAIRED} rows on a CPU")
    pair = ops.iota(rows * (rows - 1) // 2, device=x.device)
    # Row i begins with pair i · (2 · rows - 1 - i) / 2: a root tells which row a pair is of.
    width = 2 * rows - 1
    root = ops.sqrt(ops.cast(ops.subtract(width * width, ops.multiply(pair, 8)), f64))
    first = ops.cast(ops.floor(ops.divide(ops.subtract(width, root), 2.0)), i64)
    begin = ops.floor_divide(ops.multiply(first, ops.subtract(width, first)), 2)
    second = ops.add(ops.add(ops.subtract(pair, begin), first), 1)
    difference = ops.subtract(ops.take(x, [first]), ops.take(x, [second]))
    return ops.norm(difference, p, -1)
