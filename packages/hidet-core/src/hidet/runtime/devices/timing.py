"""How long a call takes, on a GPU by its own clock, on the CPU by the host's."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from statistics import median, quantiles

import numpy as np

from hidet.errors import BadArgument
from hidet.runtime.devices.cuda_memory import CudaAllocator
from hidet.runtime.devices.device import attribute
from hidet.runtime.devices.driver import call
from hidet.runtime.devices.stream import Event

LEAST_CACHE = 32 << 20
"""Bytes that a cache of unknown size is taken to hold."""
FLUSHED = 4
"""How many times that a GPU writes before a measurement: longer than a launch takes."""
READ = 2
"""How many times that a CPU reads: long writes go past its caches."""


class Timing(float):
    """Milliseconds of one call: a number, the median of `times`, with how far those are apart."""

    def __new__(cls, times: Sequence[float]) -> Timing:
        found = super().__new__(cls, median(times))
        found.times = tuple(times)
        return found

    times: tuple[float, ...]
    """The mean of each round, in milliseconds."""

    @property
    def spread(self) -> float:
        """Milliseconds from the first to the third quarter of the rounds."""
        if len(self.times) < 2:
            return 0.0
        first, _, third = quantiles(self.times, n=4, method="inclusive")
        return third - first


def median_seconds(
    run: Callable[[], object],
    *,
    device: str = "cpu",
    stream: int = 0,
    repeats: int = 20,
    warmups: int = 3,
) -> float:
    """The median time of `run`, in seconds, after `warmups` calls that do not count.

    On a GPU it is the time between two events around what `run` puts on `stream`: where the host
    needs longer to launch than the GPU to run, it is the host's time.
    """
    if repeats < 1 or warmups < 0:
        raise BadArgument(f"{repeats} repeats after {warmups} warm-ups measure nothing")
    for _ in range(warmups):
        run()
    if device == "cpu":
        return median(host_seconds(run) for _ in range(repeats))
    return median(device_seconds(run, device, stream) for _ in range(repeats))


def host_seconds(run: Callable[[], object]) -> float:
    """The time of one call by the host's clock."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def thread_seconds(run: Callable[[], object]) -> float:
    """The time that this thread is at work in one call."""
    start = time.thread_time()
    run()
    return time.thread_time() - start


def device_seconds(run: Callable[[], object], device: str, stream: int) -> float:
    """The time of one call's work on a stream, by the GPU's clock."""
    start, end = Event(device, timed=True), Event(device, timed=True)
    start.record(stream)
    run()
    end.record(stream)
    end.synchronize()
    return end.seconds_since(start)


def cache_bytes(device: str) -> int:
    """The bytes that the last cache of a device holds."""
    if device == "cpu":
        name = "SC_LEVEL3_CACHE_SIZE"
        known = os.sysconf(name) if name in os.sysconf_names else 0
    else:
        known = attribute(device, "L2_CACHE_SIZE")
    return max(known, LEAST_CACHE)


def flushing(device: str, stream: int = 0) -> Callable[[], None]:
    """What fills the last cache of a device with other data."""
    if device == "cpu":
        array = np.ones(READ * cache_bytes(device), np.uint8)

        def read() -> None:
            array.max()

        return read
    nbytes = FLUSHED * cache_bytes(device)
    memory = CudaAllocator().empty(nbytes, device)
    return lambda: call("cuMemsetD8Async", memory.pointer, 0, nbytes, stream)
