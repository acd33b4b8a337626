"""A limit of time for what cannot be asked to stop: compilers."""

from __future__ import annotations

import math
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
