"""Medians of repeated calls: wall time on a CPU, events on a GPU."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch

Call = Callable[[], object]


class Times(NamedTuple):
    """Milliseconds of a call: where they are far apart, the machine had other things to do."""

    median: float
    fastest: float


def milliseconds(call: Call, device: str, *, seconds: float = 0.5, least: int = 7) -> Times:
    """The times of a call, after warm-up, over `seconds` of calls and at least `least` of them.

    Calls follow each other with nothing between: weights that fit stay in the caches, as they do
    in a service. On a GPU the time is that between two events around the call, so host time
    counts where the GPU waits for it.
    """
    times = samples(call, device, seconds=seconds, least=least)
    return Times(statistics.median(times), min(times))


def samples(call: Call, device: str, *, seconds: float = 0.5, least: int = 7) -> list[float]:
    """The milliseconds of each call that `milliseconds` makes."""
    warm_up(call, device)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        times.append(sample(call, device))
    return times


def host_microseconds(
    calls: Mapping[str, Call], device: str, each: int = 20, rounds: int = 200
) -> dict[str, list[float]]:
    """How long calls keep the host busy; their work on a GPU is not waited for.

    They are taken in turns, in parts so short that the machine seldom does anything else in one of
    them: parts of one round can be compared. A result is held until the next call has given its
    own, as programs do, so that memory is not the same for each call.
    """
    for call in calls.values():
        warm_up(call, device)
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(each):
                held = call()
            found[name].append((time.perf_counter() - start) / each * 1e6)
            del held
            synchronize(device)
    return found


def in_graph(call: Call, copies: int = 1) -> Call:
    """A replay of `copies` calls as one CUDA graph: the kernels without their launches.

    A graph does not hold the weights that its kernels read; the call does, and the replay holds it.
    """
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(copies):
            call()

    def replay(_reads: Call = call) -> None:
        graph.replay()

    return replay


def warm_up(call: Call, device: str, calls: int = 3) -> None:
    """Let caches fill, clocks rise and lazy parts load."""
    for _ in range(calls):
        call()
    synchronize(device)


def synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def sample(call: Call, device: str) -> float:
    """Milliseconds of one call."""
    return event_milliseconds(call) if device == "cuda" else wall_milliseconds(call)


def wall_milliseconds(call: Call) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def event_milliseconds(call: Call) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)
