"""How long a call takes, on a GPU by its own clock, on the CPU by the host's."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

from hidet.errors import BadArgument
from hidet.runtime.stream import Event


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


def device_seconds(run: Callable[[], object], device: str, stream: int) -> float:
    """The time of one call's work on a stream, by the GPU's clock."""
    start, end = Event(device, timed=True), Event(device, timed=True)
    start.record(stream)
    run()
    end.record(stream)
    end.synchronize()
    return end.seconds_since(start)
