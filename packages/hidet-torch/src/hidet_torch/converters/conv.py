"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.graph import Tensor
from hidet_torch.converters.table import aten, torch


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
    """The convolution, or its transpose, over all trailing axes, padded on both sides of each."""
    rank = x.ndim - 2
    each = [
        tuple(given) * rank if len(given) == 1 else tuple(given)
        for given in (stride, padding, dilation, output_padding)
    ]
    if transposed:
        return ops.conv_transpose(
            x, weight, bias, stride=each[0], padding=each[1], dilation=each[2],
            output_padding=each[3], groups=groups,
        )  # fmt: skip
    return ops.conv(
        x, weight, bias, stride=each[0], padding=each[1], dilation=each[2], groups=groups
    )
