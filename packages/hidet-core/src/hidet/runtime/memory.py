"""Memory as the runtime sees it: an address, a shape, and who keeps it alive."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np

from hidet.runtime.device import make_current
from hidet.runtime.driver import call
from hidet.types import dtype as dtype_of

ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class View:
    """A tensor in memory without gaps: `owner` is what must not be freed while it is used."""

    pointer: int
    shape: tuple[int, ...]
    dtype: str
    device: str
    owner: Any = None

    @property
    def nbytes(self) -> int:
        """Bytes that the elements take."""
        return prod(self.shape) * dtype_of(self.dtype).nbytes


class Allocator(Protocol):
    """Where memory comes from; a frontend supplies its framework's."""

    def empty(self, nbytes: int, device: str) -> View:
        """`nbytes` bytes of scratch memory (dtype uint8), aligned to 64 bytes, 256 on a GPU."""

    def output(self, index: int, shape: tuple[int, ...], dtype: str, device: str) -> View:
        """Memory for output number `index`; the caller finds it as the view's owner."""


class HostAllocator:
    """Memory of the host, as numpy arrays."""

    def empty(self, nbytes: int, device: str) -> View:
        """Scratch memory."""
        return view_of(aligned((nbytes,), np.dtype(np.uint8)))

    def output(self, index: int, shape: tuple[int, ...], dtype: str, device: str) -> View:
        """A fresh array."""
        return view_of(aligned(shape, dtype_of(dtype).numpy))


class CudaAllocator:
    """Memory of a GPU, from the driver."""

    def empty(self, nbytes: int, device: str) -> View:
        """Scratch memory."""
        block = DeviceBlock(max(nbytes, 1), device)
        return View(block.pointer, (nbytes,), "uint8", device, block)

    def output(self, index: int, shape: tuple[int, ...], dtype: str, device: str) -> View:
        """Fresh memory."""
        block = DeviceBlock(max(prod(shape) * dtype_of(dtype).nbytes, 1), device)
        return View(block.pointer, shape, dtype, device, block)


class DeviceBlock:
    """A piece of device memory, freed with its last reference."""

    def __init__(self, nbytes: int, device: str) -> None:
        make_current(device)
        self.device = device
        self.pointer = int(call("cuMemAlloc", nbytes))

    def __del__(self) -> None:
        pointer = getattr(self, "pointer", 0)
        if pointer:
            make_current(self.device)
            call("cuMemFree", pointer)


def allocator_for(device: str) -> Allocator:
    """The allocator used where a caller brings none."""
    return HostAllocator() if device == "cpu" else CudaAllocator()


def aligned(shape: tuple[int, ...], of: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An array whose data starts at a multiple of 64 bytes; its values are undefined."""
    nbytes = prod(shape) * of.itemsize
    raw = np.empty(nbytes + ALIGNMENT, np.uint8)
    start = -raw.__array_interface__["data"][0] % ALIGNMENT
    return raw[start : start + nbytes].view(of).reshape(shape)


def view_of(array: np.ndarray[Any, Any]) -> View:
    """An array as the runtime sees it; the array must have no gaps."""
    assert array.flags.c_contiguous, "a view has no gaps"
    pointer = array.__array_interface__["data"][0]
    return View(pointer, array.shape, dtype_of(array.dtype).name, "cpu", array)


def array_of(view: View) -> np.ndarray[Any, Any]:
    """The values of a view as a numpy array: the owner itself on the CPU, else a copy."""
    if view.device == "cpu" and isinstance(view.owner, np.ndarray):
        return view.owner.reshape(view.shape)
    array = np.empty(view.shape, dtype_of(view.dtype).numpy)
    make_current(view.device)
    call("cuMemcpyDtoH", array.__array_interface__["data"][0], view.pointer, view.nbytes)
    return array


def to_device(array: np.ndarray[Any, Any], device: str) -> View:
    """The array's values on `device`."""
    packed = np.ascontiguousarray(array).reshape(array.shape)
    if device == "cpu":
        return view_of(packed)
    made = CudaAllocator().output(0, array.shape, dtype_of(array.dtype).name, device)
    call("cuMemcpyHtoD", made.pointer, packed.__array_interface__["data"][0], packed.nbytes)
    return made
