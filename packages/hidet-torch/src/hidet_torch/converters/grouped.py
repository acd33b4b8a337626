"""Grouped matmuls: the experts of a mixture, by PyTorch and by transformers."""

from __future__ import annotations

import torch as pytorch

from hidet import ops
from hidet.graph import Tensor
from hidet_torch.converters.table import aten, require, torch
from hidet_torch.memory.dtypes import hidet_dtype

FALLBACK = "transformers::grouped_mm_fallback"
"""What transformers calls where it does not call PyTorch's; registered when it is imported."""


@torch(aten._grouped_mm.default)
def grouped_mm(
    x: Tensor,
    w: Tensor,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: pytorch.dtype | None = None,
) -> Tensor:
    """Rows sorted by group times a matrix of each group; where groups end is told at run time."""
    require(offs is not None and x.ndim == 2 and w.ndim == 3, "grouped columns, or stacks")
    require(bias is None, "a bias of groups")
    assert offs is not None
    found = ops.grouped_matmul(x, w, offs)
    return found if out_dtype is None else ops.cast(found, hidet_dtype(out_dtype))


@torch(FALLBACK)
def grouped_mm_fallback(x: Tensor, w: Tensor, offs: Tensor) -> Tensor:
    """The same by another name."""
    return ops.grouped_matmul(x, w, offs)
