"""PyTorch tensors as hidet's storage: memory shared, never copied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from hidet.types import DType

from hidet_torch.dtypes import TO_HIDET


@dataclass(frozen=True)
class Held:
    """A tensor on a GPU as the storage of a constant; keeps PyTorch's memory alive."""

    tensor: torch.Tensor

    def data_ptr(self) -> int:
        """Where the elements lie now."""
        return self.tensor.data_ptr()


def storage_of(tensor: torch.Tensor) -> Any:
    """The storage of a constant: on the CPU an array over the same memory, else the tensor held."""
    if tensor.device.type != "cpu":
        return Held(tensor)
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    of: DType = TO_HIDET[tensor.dtype]
    if not tensor.numel():
        return torch.empty(tensor.shape, dtype=torch.uint8).numpy().astype(of.numpy)
    bits = tensor.reshape(-1) if tensor.ndim == 0 else tensor
    return bits.view(torch.uint8).numpy().view(of.numpy).reshape(tuple(tensor.shape))


def device_of(device: torch.device) -> str:
    """A device in hidet's words: "cpu" or "cuda:0"."""
    return "cpu" if device.type == "cpu" else f"{device.type}:{device.index or 0}"
