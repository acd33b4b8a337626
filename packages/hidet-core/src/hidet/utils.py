"""Measuring a call, under the name that users know."""

from __future__ import annotations

from collections.abc import Callable

from hidet.build.arguments import current_stream
from hidet.errors import BadArgument, CudaError, NoDevice
from hidet.runtime.devices.device import current_device
from hidet.runtime.devices.driver import call
from hidet.runtime.devices.timing import Timing, device_seconds, flushing, host_seconds


def benchmark_func(
    run_func: Callable[[], object],
    warmup: int = 3,
    number: int = 5,
    repeat: int = 10,
    median: bool = True,
    flush_l2: bool = False,
) -> Timing | list[float]:
    """Milliseconds that one call takes: the median of `repeat` means over `number` calls each.

    The result is a number that has a `spread`, and the means as `times`; `median=False` gives all
    means. `warmup` calls come before and do not count. Where a GPU is in use the time is taken
    between two events on its current stream, else by the host's clock. With `flush_l2` each call
    begins with none of its data in the last cache, and is timed alone.
    """
    if warmup < 0 or number < 1 or repeat < 1:
        raise BadArgument(f"{repeat} times {number} calls after {warmup} measure nothing")
    for _ in range(warmup):
        run_func()
    device = device_in_use()
    flush = flushing(device or "cpu", current_stream(device) if device else 0) if flush_l2 else None
    times = [mean_seconds(run_func, number, device, flush) * 1e3 for _ in range(repeat)]
    return Timing(times) if median else times


def mean_seconds(
    run: Callable[[], object],
    number: int,
    device: str | None,
    flush: Callable[[], None] | None = None,
) -> float:
    """The mean time of some calls in a row, or of calls apart with `flush` before each."""

    def all_calls() -> None:
        for _ in range(number):
            run()

    if flush is None:
        return seconds(all_calls, device) / number
    total = 0.0
    for _ in range(number):
        flush()
        total += seconds(run, device)
    return total / number


def seconds(run: Callable[[], object], device: str | None) -> float:
    """The time of one call, by the GPU in use or by the host's clock."""
    if device is None:
        return host_seconds(run)
    return device_seconds(run, device, current_stream(device))


def device_in_use() -> str | None:
    """The GPU that this thread has worked with; None if it has not worked with any."""
    try:
        return current_device() if int(call("cuCtxGetCurrent")) else None
    except (NoDevice, CudaError):  # no driver, or nobody has started it
        return None
