"""Arrays of any library seen with their axes in another order, without a copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hidet import seams
from hidet.graph.creation import from_dlpack
from hidet.graph.tensor import Tensor
from hidet.runtime.devices.dlpack import view_of_dlpack
from hidet.types.strides import inverse


@dataclass(frozen=True, eq=False)
class Permuted:
    """A tensor of ours, whose memory is in rows, with its axes in another order."""

    tensor: Tensor
    order: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return tuple(self.tensor.shape[axis] for axis in self.order)  # type: ignore[misc]

    @property
    def is_packed(self) -> bool:
        """Whether the elements lie in rows of these axes too."""
        moved = [axis for axis in self.order if self.tensor.shape[axis] != 1]
        return moved == sorted(moved) or 0 in self.shape

    def transpose(self, order: Sequence[int]) -> Tensor | Permuted:
        """The same with these axes in an order."""
        axes = tuple(self.order[axis] for axis in order)
        return self.tensor if axes == tuple(range(len(axes))) else Permuted(self.tensor, axes)


def permuted(value: Any, order: Sequence[int]) -> Any:
    """An array with its axes in an order; itself if it has more axes, or fewer.

    Libraries that have no views, such as JAX, make a copy.
    """
    if len(getattr(value, "shape", ())) != len(order):
        return value
    if isinstance(value, Tensor):
        if not isinstance(value.storage, np.ndarray):
            return Permuted(value, tuple(order))
        value = value.storage
    if not isinstance(value, np.ndarray) and hasattr(value, "permute"):
        return value.permute(*order)
    if hasattr(value, "transpose"):
        return value.transpose(order)
    if view_of_dlpack(value)[1]:  # gaps, which numpy may have and our tensors not
        return np.from_dlpack(value).transpose(order)
    return permuted(from_dlpack(value), order)


def lying(tensor: Tensor, order: Sequence[int]) -> Any:
    """An array of a tensor's values with its axes in an order in memory; the tensor itself if none
    is given, or one of other axes."""
    if not order or len(order) != tensor.ndim:
        return tensor
    if isinstance(tensor.storage, np.ndarray):
        return np.ascontiguousarray(tensor.storage.transpose(order)).transpose(inverse(order))
    permute = seams.call("load_operators")["permute"]
    return Permuted(permute(tensor, tuple(order)), inverse(order))
