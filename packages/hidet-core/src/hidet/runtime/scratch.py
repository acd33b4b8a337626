"""The one piece of scratch memory of an executor, shared by its programs for all shapes."""

from __future__ import annotations

from threading import Lock

from hidet.runtime.memory import Allocator
from hidet.runtime.stream import Event
from hidet.runtime.view import View


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
        self.finished = None if device == "cpu" else Event(device)

    def reserve(self, nbytes: int) -> int:
        """The address of at least `nbytes` bytes, until the next call asks for more."""
        if self.memory is None or self.nbytes < nbytes:
            if self.memory is not None and self.finished is not None:
                self.finished.synchronize()  # the old memory goes back while nothing uses it
            self.memory = None
            self.memory = self.allocator.empty(nbytes, self.device)
            self.nbytes = nbytes
        return self.memory.pointer

    def begin(self, stream: int) -> None:
        """Let work on `stream` wait until the run before is done with the memory."""
        if self.finished is not None:
            self.finished.hold(stream)

    def end(self, stream: int) -> None:
        """All of a run is on `stream` now."""
        if self.finished is not None:
            self.finished.record(stream)
