"""A tensor of the model as a constant: used where it lies, if kernels can read it there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from hidet.errors import BadArgument, Capturing
from hidet.frontend.running.execute import Origin, View
from hidet.graph import Tensor
from hidet.types import TensorType
from hidet_torch.memory.dtypes import hidet_dtype
from hidet_torch.memory.streams import is_captured
from hidet_torch.memory.tensors import device_of, storage_of, view_of, view_shape

ALIGNMENT = 16


@dataclass
class Weight:
    """A tensor of the model as a constant: `memory` is what kernels read.

    It is the source itself with its axes in `order` where that lies in rows, else a copy of our
    own: `is_shared` tells which.
    """

    source: torch.Tensor
    device: str
    order: tuple[int, ...]
    memory: torch.Tensor
    is_shared: bool

    @staticmethod
    def of(source: torch.Tensor, device: str, order: tuple[int, ...]) -> Weight:
        """The weight of a tensor."""
        memory = rows(source, device, order)
        return Weight(source, device, order, memory, lies_in(memory, source))

    def constant(self) -> Tensor:
        """The weight as a constant of a graph, in the same memory."""
        of = TensorType(hidet_dtype(self.memory.dtype), view_shape(self.memory))
        return Tensor(of, self.device, storage_of(self.memory))

    def renew(self) -> View:
        """Look again where the source lies, or copy it again; Outgrown if it cannot be."""
        if (self.source.dtype, self.source.ndim) != (self.memory.dtype, self.memory.ndim):
            raise Outgrown("a weight changed its type or its shape since it was compiled")
        fresh = rows(self.source, self.device, self.order)
        if fresh.shape != self.memory.shape:
            raise Outgrown("a weight changed its type or its shape since it was compiled")
        shared = lies_in(fresh, self.source)
        if shared or self.is_shared or self.memory.is_meta:
            # What was shared is the user's, and never written to.
            self.memory, self.is_shared = fresh, shared
        else:
            self.memory.copy_(fresh)
        return view_of(self.memory)

    def values(self) -> torch.Tensor:
        """The values in rows, also where none are held."""
        return rows(self.source, self.device, self.order) if self.memory.is_meta else self.memory

    def view(self) -> View:
        """Where the values lie that kernels read."""
        return view_of(self.memory)

    def is_copied(self) -> bool:
        """Whether kernels read a copy of what the source is now."""
        return not lies_in(self.memory, self.source)

    def stamp(self) -> Callable[[], int]:
        """Where the source lies."""
        return self.source.data_ptr

    def counted(self) -> torch.Tensor | None:
        """The source, if PyTorch counts how often it is written to."""
        return None if self.source.is_inference() else self.source

    def origin(self) -> Origin:
        """Of which tensor of the model this is, and how it is read."""
        return Origin(self.source, self.order)

    def release(self) -> None:
        """Hold no memory; only its shape and type are kept."""
        self.memory = self.memory.to("meta")


def lies_in(memory: torch.Tensor, source: torch.Tensor) -> bool:
    """Whether a tensor is its source under another order of axes."""
    return memory.data_ptr() == source.data_ptr()


def is_same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors are the same elements in memory."""
    return (a.data_ptr(), a.stride()) == (b.data_ptr(), b.stride())


class Outgrown(Exception):
    """A weight has another type or shape than the one that was compiled for."""


def rows(source: torch.Tensor, device: str, order: tuple[int, ...]) -> torch.Tensor:
    """The values in rows on a device, aligned; shared with the source where it is so already.

    Capturing, if they have to be copied and PyTorch's work is captured into a CUDA graph.
    """
    if is_gone(source):
        raise BadArgument(
            "a weight was given away by steal_weights when another graph was compiled",
            help="load the weights again with load_state_dict(..., assign=True)",
        )
    if is_captured(device) and not lies_in_rows(source, device, order):
        raise Capturing(
            "a weight cannot be copied while a CUDA graph is captured",
            help="call the model once before the capture, after the last write to its weights",
        )
    with torch.no_grad():
        found = source.detach().resolve_conj().resolve_neg().to(device)
        found = found.permute(order).contiguous()
        return found if found.data_ptr() % ALIGNMENT == 0 else found.clone()


def lies_in_rows(source: torch.Tensor, device: str, order: tuple[int, ...]) -> bool:
    """Whether kernels can read the values where they are."""
    is_there = device_of(source.device) == device and source.data_ptr() % ALIGNMENT == 0
    is_plain = not (source.is_conj() or source.is_neg())
    return is_there and is_plain and source.detach().permute(order).is_contiguous()


def is_gone(source: torch.Tensor) -> bool:
    """Whether the memory of a tensor was given back."""
    return source.numel() > 0 and source.untyped_storage().nbytes() == 0
