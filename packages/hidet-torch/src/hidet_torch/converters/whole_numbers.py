"""Divisors and multiples of integers."""

from __future__ import annotations

from hidet import ops
from hidet.compute.sizes import broadcast, product
from hidet.graph import Tensor
from hidet_torch.converters.table import aten, torch
from hidet_torch.memory.dtypes import result_type


@torch(aten.gcd.default)
def gcd(x: Tensor, y: Tensor) -> Tensor:
    """The greatest common divisors, by Euclid's algorithm: of all elements at once, until the last
    has its own. That of two zeros is 0."""
    left, right = pair(x, y)
    if product(left.shape) == 0:
        return left

    def iteration(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        is_done = ops.equal(b, 0)
        rest = ops.fmod(a, ops.where(is_done, 1, b, dtype=b.dtype))
        return ops.where(is_done, a, b), ops.where(is_done, 0, rest, dtype=b.dtype)

    found, _ = ops.while_loop(lambda a, b: ops.any(ops.not_equal(b, 0)), iteration, left, right)
    return ops.absolute(found)


@torch(aten.lcm.default)
def lcm(x: Tensor, y: Tensor) -> Tensor:
    """The least common multiples; 0 where an operand is 0."""
    left, right = pair(x, y)
    common = gcd(left, right)
    times = ops.trunc_divide(left, ops.maximum(common, 1, dtype=common.dtype))
    return ops.absolute(ops.multiply(times, right))


def pair(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Both in one type and shape."""
    of, shape = result_type(x, y), broadcast(x.shape, y.shape)
    return ops.expand(ops.cast(x, of), shape), ops.expand(ops.cast(y, of), shape)
