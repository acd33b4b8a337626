"""How values lie in PyTorch's memory: in rows, in rows of another order of axes, or neither."""

from __future__ import annotations

from typing import Any

import torch

from hidet.types.strides import dense_order


def hint(size: Any) -> int:
    """A size as a number; of a symbolic one its value in the example."""
    if isinstance(size, torch.SymInt):
        value = size.node.hint
        return 2 if value is None else int(value)
    return int(size)


def order_of(value: torch.Tensor) -> tuple[int, ...] | None:
    """The order of axes in which the elements lie in rows without gaps; None if there is none."""
    return dense_order([*map(hint, value.shape)], [*map(hint, value.stride())])
