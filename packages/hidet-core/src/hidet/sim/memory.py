"""Memory: buffers of bytes, one instance for the grid, for each block or for each thread."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from hidet.sim.order.holds import Holds
from hidet.sim.order.races import Shadow
from hidet.sim.values import Array, Value
from hidet.types import Scope

ALIGNMENT = 256
"""Buffers begin at multiples of this many bytes, as device allocations do."""


@dataclass(eq=False)
class Sources:
    """What copies of several threads read, until each thread's is done."""

    number: int
    """The operation's reads, in the shadows."""
    granules: Array
    reader: Array
    """For each granule, whose copy reads it: an index of `done`."""
    done: Array

    def among(self, granules: Array) -> Array:
        """Which of the granules may still be read."""
        found: Array = np.isin(granules, self.granules[~self.done[self.reader]])
        return found


@dataclass(eq=False)
class Buffer:
    """Bytes with a name. `data` holds all instances, `stride` bytes apart, `size` of them used."""

    name: str
    scope: Scope
    data: Array
    size: int
    stride: int
    element: int
    """Bytes of an element as declared: for messages."""
    shape: tuple[int, ...] | None = None
    level: int = 0
    """Which fork of the SIMT group a register buffer belongs to."""
    shadow: Shadow | None = None
    written: Array | None = None
    """For memory that starts undefined: whether each granule was written."""
    granule: int = 1
    address: int = 0
    """Of shared memory: where it begins in that of a block, as a number."""
    alignment: int = ALIGNMENT
    """Bytes of which the address is a multiple on every device."""
    holds: Holds | None = None
    """Of registers that a wgmma may hold: which it does."""
    starts_undefined: bool = False
    """Whether global memory holds nothing until it is written: a workspace."""
    source: Any = None
    """The caller's `Undefined` array that it is."""
    read_only: bool = False
    """Whether the caller does not let kernels write here."""
    used: bool = False
    """Whether the launch under way may touch it."""
    copied: list[Sources] = field(default_factory=list)
    """Parts of global memory that copies under way may still read."""
    pending: Array | None = None
    """For each granule, what launches that may still run do to it: see `dependents`."""
    views: dict[np.dtype[Any], Array] = field(default_factory=dict)

    def view(self, of: np.dtype[Any]) -> Array:
        """All bytes as elements of type `of`."""
        found = self.views.get(of)
        if found is None:
            whole = self.data.size // of.itemsize * of.itemsize
            found = self.views[of] = self.data[:whole].view(of)
        return found

    def at(self, offset: int) -> str:
        """The element at a byte offset of one instance, as a reader knows it: `tile[3, 4]`."""
        place = offset // self.element
        inside = self.shape is not None and 0 <= place < prod(self.shape)
        index = np.unravel_index(place, self.shape) if inside and self.shape else (place,)
        return f"{self.name}[{', '.join(str(int(i)) for i in index)}]"


@dataclass(frozen=True, eq=False)
class Pointer:
    """An address: a buffer and a byte offset within the instance that the thread sees."""

    buffer: Buffer
    offset: Value
    block: Value = None
    """Whose shared memory it is: a block's number in the cluster; None: the thread's own."""

    def moved(self, nbytes: Value) -> Pointer:
        """The address `nbytes` further on."""
        return Pointer(self.buffer, self.offset + nbytes, self.block)


def padded(size: int) -> int:
    """`size` rounded up so that the next instance is aligned."""
    return -(-max(size, 1) // ALIGNMENT) * ALIGNMENT


def fresh(
    name: str,
    scope: Scope,
    element: int,
    shape: tuple[int, ...] | None,
    size: int,
    instances: int,
) -> Buffer:
    """A buffer of undefined content."""
    stride = padded(size)
    data = np.zeros(stride * instances, np.uint8)
    return Buffer(name, scope, data, size, stride, element, shape)


def wrapped(name: str, array: Array) -> Buffer:
    """A buffer over the caller's own array: what the kernel writes, the caller sees."""
    data = array.reshape(-1).view(np.uint8)
    return Buffer(name, Scope.GLOBAL, data, data.size, data.size, array.itemsize, array.shape)
