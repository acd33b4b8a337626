"""Device memory from the driver, kept and reused: what serves where no framework allocates.

Freed memory is reused by work on the stream it was taken for, so that no reuse has to wait: what
the stream still does with it comes before what the stream will do with it. Memory taken while
somebody captures a graph is kept for good, since the graph may run again at any time.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import prod
from threading import RLock

from hidet.errors import OutOfMemory
from hidet.runtime.devices.captures import beside_captures
from hidet.runtime.devices.device import on
from hidet.runtime.devices.driver import call
from hidet.runtime.devices.stream import current
from hidet.runtime.devices.view import View
from hidet.types import dtype as dtype_of

SMALL = 512
LARGE = 1 << 20


@dataclass(frozen=True)
class CudaAllocator:
    """Memory of GPUs for scratch and outputs."""

    def empty(self, nbytes: int, device: str) -> View:
        """Scratch memory for work on the current stream."""
        block = Block(nbytes, device)
        return View(block.pointer, (nbytes,), "uint8", device, block)

    def output(self, index: int, shape: tuple[int, ...], dtype: str, device: str) -> View:
        """Fresh memory for work on the current stream."""
        block = Block(prod(shape) * dtype_of(dtype).nbytes, device)
        return View(block.pointer, shape, dtype, device, block)


class Block:
    """A piece of device memory, kept for reuse when its last reference goes."""

    __slots__ = ("kept", "pointer")

    def __init__(self, nbytes: int, device: str) -> None:
        home = (device, current.handle, rounded(nbytes))
        self.kept = _free[home]
        self.pointer = take(home)
        if current.capturing:
            _captured.append(self)

    def __del__(self) -> None:
        # Called at any time by the garbage collector: no driver call, which could fail or, in
        # another's capture, break it; the list's append needs no lock.
        if hasattr(self, "pointer"):
            self.kept.append(self.pointer)


Home = tuple[str, int, int]
_free: defaultdict[Home, list[int]] = defaultdict(list)
_captured: list[Block] = []
_lock = RLock()


def take(home: Home) -> int:
    """The address of a free piece of memory, from the driver if none is kept."""
    device, _, nbytes = home
    if not current.capturing:
        try:
            return _free[home].pop()
        except IndexError:
            pass  # none is kept: ask the driver
    with _lock, on(device):
        try:
            return from_driver(nbytes)
        except OutOfMemory:
            if current.capturing:
                raise
            release_kept(device)
            return from_driver(nbytes)


def from_driver(nbytes: int) -> int:
    """Memory from the driver; allowed also while this or another thread captures a graph."""
    with beside_captures():
        return int(call("cuMemAlloc", nbytes))


def release_kept(device: str) -> int:
    """Give the driver back what is kept for reuse; returns how many bytes that was.

    That waits for the work that still uses it.
    """
    released = 0
    with _lock, on(device):
        for home in [each for each in list(_free) if each[0] == device]:
            kept = _free[home]
            with beside_captures():
                while kept:
                    call("cuMemFree", kept.pop())
                    released += home[2]
    return released


def rounded(nbytes: int) -> int:
    """A size rounded up, by at most an eighth where it is large, so that similar ones meet."""
    if nbytes <= LARGE:
        return max(SMALL, -(-nbytes // SMALL) * SMALL)
    step = 1 << (nbytes.bit_length() - 4)
    return -(-nbytes // step) * step
