"""On which CUDA stream the runtime works, and events to order streams and to time them.

A stream is its handle, a number: frameworks and the driver agree on it. 0 is the default stream.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from hidet.runtime.devices.captures import Handle, Owner, beside_captures
from hidet.runtime.devices.device import make_current, on, restore
from hidet.runtime.devices.driver import call, cu, expect


class Current(threading.local):
    """The stream that this thread works on, and whether somebody captures it into a graph."""

    handle: int = 0
    capturing: bool = False


current = Current()


class Work:
    """A block of work on a device's stream: driver calls and memory taken in it belong there.

    What was current before is current again after it. (A class, since a generator takes longer
    than most of what a call does.)
    """

    __slots__ = ("before", "context", "device", "stream")

    def __init__(self, device: str, stream: int) -> None:
        self.device, self.stream = device, stream

    def __enter__(self) -> None:
        self.context = make_current(self.device)
        try:
            capturing = is_capturing(self.stream)
        except BaseException:
            restore(self.context)
            raise
        self.before = current.handle, current.capturing
        current.handle, current.capturing = self.stream, capturing

    def __exit__(self, *error: object) -> None:
        current.handle, current.capturing = self.before
        restore(self.context)


def is_capturing(handle: int) -> bool:
    """Whether somebody records the stream's work into a CUDA graph instead of running it."""
    if handle == 0:
        return False  # the default stream cannot be captured
    status, capture = cu.cuStreamIsCapturing(handle)
    expect(status, "cuStreamIsCapturing")
    return bool(capture)  # the state without a capture is 0


class Stream(Owner):
    """A stream of our own, independent of the default one; destroyed with its last reference."""

    def __init__(self, device: str = "cuda:0") -> None:
        with on(device):
            self.handle = int(call("cuStreamCreate", cu.CUstream_flags.CU_STREAM_NON_BLOCKING))

    def synchronize(self) -> None:
        """Wait until all work on the stream is done."""
        with beside_captures():
            call("cuStreamSynchronize", self.handle)

    def handles(self) -> Iterable[Handle]:
        """The stream."""
        return [("cuStreamDestroy", getattr(self, "handle", None))]


class Event(Owner):
    """A point in the work of a stream; `timed` ones can be asked for the time between them."""

    def __init__(self, device: str, timed: bool = False) -> None:
        flags = cu.CUevent_flags
        kind = flags.CU_EVENT_DEFAULT if timed else flags.CU_EVENT_DISABLE_TIMING
        with on(device):
            self.handle = call("cuEventCreate", kind)

    def record(self, stream: int) -> None:
        """Stand for all work that the stream has so far."""
        expect(cu.cuEventRecord(self.handle, stream)[0], "cuEventRecord")

    def hold(self, stream: int) -> None:
        """Let later work on `stream` wait for this point."""
        expect(cu.cuStreamWaitEvent(stream, self.handle, 0)[0], "cuStreamWaitEvent")

    def synchronize(self) -> None:
        """Wait for this point."""
        with beside_captures():
            call("cuEventSynchronize", self.handle)

    def seconds_since(self, start: Event) -> float:
        """Time between two timed events whose work is done."""
        return float(call("cuEventElapsedTime", start.handle, self.handle)) / 1e3

    def handles(self) -> Iterable[Handle]:
        """The event."""
        return [("cuEventDestroy", getattr(self, "handle", None))]
