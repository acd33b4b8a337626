"""What lets a program end in time on a busy machine: a limit for what cannot be asked to stop, and
none but one thread for what is not measured."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

AGAIN = 5.0
"""Seconds between signals, should the program lose the exception that the first one raised."""


class TimeIsUp(BaseException):
    """Raised in the middle of what takes too long; no `except Exception` of a compiler keeps it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises TimeIsUp in this block after so many seconds; in the main thread alone.

    A call into C ends first.
    """
    if math.isinf(seconds):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def stop(*_: Any) -> None:
    """What the signal does."""
    raise TimeIsUp


@contextmanager
def one_thread() -> Iterator[None]:
    """PyTorch computes on one thread in this block.

    On a busy machine its threads wait for each other at the end of each loop, and what takes a
    tenth of a second on a quiet one takes ten.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
