"""How PyTorch rounds to element types, where the compiler's own cast does otherwise."""

from __future__ import annotations

from functools import cache

import torch

from hidet import ops
from hidet.graph import Tensor
from hidet.types import DType, f8e4m3, f8e8m0


def rounded(x: Tensor, dtype: DType) -> Tensor:
    """x as another type, with PyTorch's results for what the type does not hold."""
    if dtype is f8e8m0 and x.dtype is not f8e8m0:
        return ops.exponent_cast(x)
    if dtype is f8e4m3 and saturates():
        return ops.saturating_cast(x, dtype)
    return ops.cast(x, dtype)


@cache
def saturates() -> bool:
    """Whether float8_e4m3fn keeps what is too large as its largest number.

    Older versions of PyTorch give NaN, so it is asked itself.
    """
    return not torch.full((), 1e9).to(torch.float8_e4m3fn).isnan().item()
