"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.graph import Tensor
from hidet_torch.converters.table import aten, require, torch


@torch(aten.convolution.default)
def convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """The convolution over all trailing axes; `padding` is on both sides of each."""
    require(not transposed, "a transposed convolution")
    rank = x.ndim - 2
    each = [
        tuple(given) * rank if len(given) == 1 else tuple(given)
        for given in (stride, padding, dilation)
    ]
    return ops.conv(
        x, weight, bias, stride=each[0], padding=each[1], dilation=each[2], groups=groups
    )
