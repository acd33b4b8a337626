"""Tensors like others: where one look took several calls of PyTorch's, the next one takes one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._C._dynamo import guards

Alike = Callable[..., bool]
"""Whether as many tensors are like those that it was made of."""


def like(tensors: Sequence[torch.Tensor]) -> Alike:
    """Whether others have the same types, element types, devices, sizes, strides and signs.

    It may say no where they do (under autocast, for one), and does so of no tensors at all: then
    they are to be looked at one by one.
    """
    quick: Any = guards  # its types are not told
    if not tensors:
        return unlike
    found = quick.TensorGuards(*tensors, dynamic_dims_sizes=None, dynamic_dims_strides=None)
    check: Alike = found.check
    return check


def unlike(*tensors: object) -> bool:
    """As long as none were looked at."""
    return False
