"""PyTorch tensors as hidet's memory and back: shared, never copied."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import torch

from hidet.frontend.running.execute import View
from hidet.types import dtype
from hidet_torch.memory.dtypes import TO_HIDET, TO_TORCH, hidet_dtype


def view_of(tensor: torch.Tensor) -> View:
    """A tensor that lies in rows as the runtime sees it."""
    of = hidet_dtype(tensor.dtype)
    return View(tensor.data_ptr(), view_shape(tensor), of.name, device_of(tensor.device), tensor)


def view_shape(tensor: torch.Tensor) -> tuple[int, ...]:
    """The shape in hidet of a tensor that is there."""
    return (*tensor.shape, 2) if tensor.is_complex() else tuple(tensor.shape)


def tensor_of(view: View) -> torch.Tensor:
    """The memory of a view as a tensor; whoever calls keeps the memory alive."""
    if isinstance(view.owner, torch.Tensor):
        return view.owner
    return tensor_at(view.pointer, view.shape, view.dtype, view.device)


def tensor_at(pointer: int, shape: tuple[int, ...], of: str, device: str) -> torch.Tensor:
    """Memory at an address as a tensor, which does not keep it alive."""
    own = TO_TORCH[dtype(of)]
    nbytes = prod(shape) * own.itemsize
    if not nbytes:
        return torch.empty(shape, dtype=own, device=device)
    memory = Memory(pointer, nbytes)
    if device == "cpu":
        flat = torch.from_numpy(np.asarray(memory))
    else:
        flat = torch.as_tensor(memory, device=device)
    return flat.view(own).reshape(shape)


class Memory:
    """Bytes at an address, for numpy and PyTorch to look at."""

    def __init__(self, pointer: int, nbytes: int, owner: Any = None) -> None:
        self.owner = owner
        facts = {"shape": (nbytes,), "typestr": "|u1", "data": (pointer, False), "version": 3}
        self.__array_interface__ = facts
        self.__cuda_array_interface__ = facts


@dataclass(frozen=True)
class TorchAllocator:
    """Memory from PyTorch: its limits, its retries, its outputs."""

    def empty(self, nbytes: int, device: str) -> View:
        """Scratch memory."""
        made = torch.empty(nbytes, dtype=torch.uint8, device=device)
        return View(made.data_ptr(), (nbytes,), "uint8", device, made)

    def output(self, index: int, shape: tuple[int, ...], dtype_: str, device: str) -> View:
        """A fresh tensor, the owner of its view."""
        made = torch.empty(shape, dtype=TO_TORCH[dtype(dtype_)], device=device)
        return View(made.data_ptr(), shape, dtype_, device, made)


def storage_of(tensor: torch.Tensor) -> Any:
    """The storage of a constant in rows: an array over the same memory on the CPU, else a view."""
    if tensor.device.type != "cpu":
        return view_of(tensor)
    parts = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    of = TO_HIDET[parts.dtype].numpy
    if not parts.numel():
        return np.empty(tuple(parts.shape), of)
    # Not by `numpy()`: after that PyTorch gives no memory back (`steal_weights`).
    nbytes = parts.numel() * parts.element_size()
    flat = np.asarray(Memory(parts.data_ptr(), nbytes, parts)).view(of)
    return flat.reshape(tuple(parts.shape))


def device_of(device: torch.device) -> str:
    """A device in hidet's words: "cpu" or "cuda:0"."""
    return "cpu" if device.type == "cpu" else f"{device.type}:{device.index or 0}"
