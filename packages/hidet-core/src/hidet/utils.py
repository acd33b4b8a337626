"""Measuring a call, under the name that users know."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median as median_of

from hidet.build.arguments import current_stream
from hidet.errors import BadArgument, CudaError, NoDevice
from hidet.runtime.device import current_device
from hidet.runtime.driver import call
from hidet.runtime.timing import device_seconds, host_seconds


def benchmark_func(
    run_func: Callable[[], object],
    warmup: int = 3,
    number: int = 5,
    repeat: int = 10,
    median: bool = True,
) -> float | list[float]:
    """Milliseconds that one call takes: the median of `repeat` means over `number` calls each.

    `warmup` calls come before and do not count. Where a GPU is in use the time is taken between
    two events on its current stream, else by the host's clock. `median=False` gives all means.
    """
    if warmup < 0 or number < 1 or repeat < 1:
        raise BadArgument(f"{repeat} times {number} calls after {warmup} measure nothing")
    for _ in range(warmup):
        run_func()
    device = device_in_use()
    times = [mean_seconds(run_func, number, device) * 1e3 for _ in range(repeat)]
    return float(median_of(times)) if median else times


def mean_seconds(run: Callable[[], object], number: int, device: str | None) -> float:
    """The mean time of some calls in a row."""

    def all_calls() -> None:
        for _ in range(number):
            run()

    if device is None:
        return host_seconds(all_calls) / number
    return device_seconds(all_calls, device, current_stream(device)) / number


def device_in_use() -> str | None:
    """The GPU that this thread has worked with; None if it has not worked with any."""
    try:
        return current_device() if int(call("cuCtxGetCurrent")) else None
    except (NoDevice, CudaError):  # no driver, or nobody has started it
        return None
