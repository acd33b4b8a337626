"""Which inputs lie in memory that a model writes to by another one's name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations, pairwise

import numpy as np
import torch

from hidet.errors import BadArgument, input_called


def require_apart(inputs: Mapping[str, torch.Tensor], written: Collection[str]) -> None:
    """Raise if an input that the model writes to shares elements with another one.

    The model was captured with inputs apart: what it writes to one it does not see in others.
    """
    if all_apart(inputs.values()):
        return
    for (name, one), (other, two) in combinations(inputs.items(), 2):
        if (name in written or other in written) and overlap(one, two):
            both = (name, other) if name in written else (other, name)
            first, second = map(input_called, both)
            raise BadArgument(
                f"the model writes to {first}, and {second} lies in the same memory",
                help="give it a copy: .clone()",
            )


def all_apart(tensors: Collection[torch.Tensor]) -> bool:
    """Whether each ends before the next one begins: as nearly always, and quickly seen."""
    return all(one[1] <= two[0] for one, two in pairwise(sorted(map(extent, tensors))))


def extent(tensor: torch.Tensor) -> tuple[int, int]:
    """The addresses of the first byte and behind the last one."""
    start, width = tensor.data_ptr(), tensor.element_size()
    if tensor.is_contiguous() or not tensor.numel():
        return start, start + tensor.numel() * width
    axes = zip(tensor.shape, tensor.stride(), strict=True)
    return start, start + (sum((size - 1) * step for size, step in axes) + 1) * width


def overlap(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether some byte belongs to elements of both: rows or columns in turns are apart."""
    one, two = np.asarray(Place(a)), np.asarray(Place(b))
    return a.device == b.device and np.shares_memory(one, two)


class Place:
    """Where the elements of a tensor lie, of any device, for numpy to reason about: never read."""

    def __init__(self, tensor: torch.Tensor) -> None:
        width = tensor.element_size()
        self.__array_interface__ = {
            "shape": tuple(tensor.shape),
            "strides": tuple(step * width for step in tensor.stride()),
            "typestr": f"|V{width}",
            "data": (tensor.data_ptr(), True),
            "version": 3,
        }
