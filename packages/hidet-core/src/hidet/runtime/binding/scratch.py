"""Scratch memory: one piece for all graphs that run on a stream, taken and let go as they are."""

from __future__ import annotations

from threading import Lock
from weakref import WeakValueDictionary

from hidet.runtime.binding.memory import Allocator
from hidet.runtime.devices.captures import aside
from hidet.runtime.devices.stream import Event
from hidet.runtime.devices.view import View


class Scratch:
    """Memory that one run at a time may use: who holds `lock` prepares or starts a run.

    On a GPU a run goes on after its start. `begin` lets the next one wait for it on the stream,
    so work on one stream never waits for the host.
    """

    def __init__(self, allocator: Allocator, device: str) -> None:
        self.allocator, self.device = allocator, device
        self.lock = Lock()
        self.memory: View | None = None
        self.nbytes = 0
        self.generation = 0
        """Changes with the memory, which only this object holds."""
        self.finished = None if device == "cpu" else Event(device)

    def reserve(self, nbytes: int) -> int:
        """The address of at least `nbytes` bytes, until the next call asks for more."""
        if self.memory is None or self.nbytes < nbytes:
            self.release()
            with aside(self.device):
                self.memory = self.allocator.empty(nbytes, self.device)
            self.nbytes = nbytes
            self.generation += 1
        return self.memory.pointer

    def release(self) -> None:
        """Let go of the memory, when nothing uses it any more; the next run takes new one."""
        if self.memory is not None and self.finished is not None:
            self.finished.synchronize()
        self.memory, self.nbytes = None, 0
        self.generation += 1

    def begin(self, stream: int) -> None:
        """Let work on `stream` wait until the run before is done with the memory."""
        if self.finished is not None:
            self.finished.hold(stream)

    def end(self, stream: int) -> None:
        """All of a run is on `stream` now."""
        if self.finished is not None:
            self.finished.record(stream)


_shared: WeakValueDictionary[tuple[Allocator, str, int], Scratch] = WeakValueDictionary()
_lock = Lock()


def shared_scratch(allocator: Allocator, device: str, stream: int) -> Scratch:
    """The scratch memory of a GPU's stream, as large as the largest graph that ran there needs.

    It is shared by all graphs whose allocators are equal, and goes with the last of them.
    """
    with _lock:
        found = _shared.get((allocator, device, stream))
        if found is None:
            found = _shared[allocator, device, stream] = Scratch(allocator, device)
        return found
