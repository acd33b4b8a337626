"""Where the time of calls on a GPU goes: events of a stream around each kernel.

`CudaProgram` launches kernels one by one while a call is recorded, since no event fits between the
nodes of a CUDA graph that is there already. So none overlaps another one, as it may in a usual
call. A GPU that waits for the next launch would count the wait: the stream is kept busy until the
host is ahead of it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from hidet.runtime.devices.stream import Event
from hidet.runtime.devices.timing import device_seconds, flushing
from hidet.runtime.profiling.profile import OneCall, Profile, profile_of

WARMUPS = 2
"""Calls that do not count: one to make the launches ready, one to see how long the host takes."""
MOST = 1000
"""How often memory is written at most while a stream is kept busy."""


def stream_profile(run: Callable[[], object], repeat: int, device: str, stream: int) -> Profile:
    """The profile of calls on a stream of a GPU.

    Where the host itself decides within a call what runs next, the time that it takes to launch
    kernels is in their rows.
    """
    ahead = Ahead(device, stream)

    def recorder() -> StreamRecorder:
        ahead.keep_busy()
        return StreamRecorder(device, stream)

    return profile_of(lambda: ahead.measured(run), repeat, recorder, WARMUPS)


class Ahead:
    """Lets the host get ahead of a stream, by work that takes longer than it needs to launch."""

    def __init__(self, device: str, stream: int) -> None:
        self.fill = flushing(device, stream)
        self.fill()
        self.each = max(device_seconds(self.fill, device, stream), 1e-6)
        self.needed = 0.0

    def keep_busy(self) -> None:
        """Put as much on the stream as the host takes for a call."""
        for _ in range(min(math.ceil(self.needed / self.each), MOST)):
            self.fill()

    def measured(self, run: Callable[[], object]) -> None:
        """Note how long the host takes."""
        start = time.perf_counter()
        run()
        self.needed = time.perf_counter() - start


class StreamRecorder(OneCall):
    """The steps of one call on a stream: events before and after each."""

    def __init__(self, device: str, stream: int) -> None:
        self.device, self.stream = device, stream
        self.events: list[tuple[str, Event, Event]] = []

    def run(self, name: str, step: Callable[[], object]) -> None:
        """Run a step between two events."""
        start, end = Event(self.device, timed=True), Event(self.device, timed=True)
        start.record(self.stream)
        step()
        end.record(self.stream)
        self.events.append((name, start, end))

    def steps(self) -> list[tuple[str, float | None]]:
        """The steps with the seconds between their events, once all are done."""
        for _, _, end in self.events[-1:]:
            end.synchronize()
        return [(name, end.seconds_since(start)) for name, start, end in self.events]
