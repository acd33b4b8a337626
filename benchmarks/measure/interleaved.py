"""Systems that take turns in one process, so that what else the machine does meets all; needs no
framework."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

Call = Callable[[], Any]
Key = TypeVar("Key")
WINDOW = 0.02
"""Seconds; Linux adds to the time of a thread on another core with its ticks, up to ten
milliseconds apart."""
IDLE = 0.2
"""The part of a window at work below which no thread of the process spins."""


def summary(times: Times) -> tuple[float, float, float]:
    """The median and the least by the clock, and the least at work."""
    return statistics.median(times.wall), min(times.wall), min(times.busy)


@dataclass(frozen=True)
class Times:
    """Milliseconds of each call: by the clock, and of the process's threads at work."""

    wall: list[float]
    busy: list[float]


def interleaved(
    calls: Mapping[Key, Call],
    seconds: float,
    least: int = 7,
    wait: Call = lambda: None,
    unmeasured: int = 0,
    most: float = math.inf,
) -> dict[Key, Times]:
    """The times of calls, the systems one after the other in each round.

    `wait` waits for what a call began. So many calls before the measured one are `unmeasured`,
    once threads of the system before sleep: its weights fill the caches. Without them the first
    round warms up. After `most` seconds no round begins any more, once there was one.
    """
    times = {system: Times([], []) for system in calls}
    start, done = time.perf_counter(), int(unmeasured > 0)
    while done < 2 or (taken(start) < most and (done <= least or taken(start) < seconds)):
        for system, call in calls.items():
            if unmeasured:
                settle()
            for _ in range(unmeasured):
                call()
                wait()
            begin, worked = time.perf_counter(), time.process_time()
            call()
            wait()
            if done:
                times[system].wall.append((time.perf_counter() - begin) * 1e3)
                times[system].busy.append((time.process_time() - worked) * 1e3)
        done += 1
    return times


def taken(start: float) -> float:
    """The seconds since then."""
    return time.perf_counter() - start


def settle(most: float = 0.5) -> None:
    """Wait until the process's other threads sleep, `most` so many seconds.

    Threads spin for a while after a call (ONNX Runtime's for some 30 ms) and would keep a core from
    the system whose turn it is.
    """
    end = time.perf_counter() + most
    while time.perf_counter() < end:
        worked = time.process_time()
        time.sleep(WINDOW)
        if time.process_time() - worked < IDLE * WINDOW:
            return
