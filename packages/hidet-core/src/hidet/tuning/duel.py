"""Which of two programs is faster: measured in turns, until the difference can be told from noise.

What a machine does besides, and a clock that slows down, then meets both alike. Who comes first in
a round changes, since the first may find other caches than the second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import median

LEAST, MOST = 7, 40
"""Rounds before it is decided at the earliest, and after which it is not decided."""
FEW = 3
"""Rounds that there are also where the time is up."""
SURE = 3.0
"""How many times its own error a difference has to be."""
WORTH = 0.99
"""What part of the time of the usual program another one has to stay below."""
MEDIAN_ERROR = 1.4826 * 1.2533
"""The error of a median of n values, times the square root of n, by their median distance."""


@dataclass(frozen=True)
class Ratio:
    """What part of the time of the first the second one takes, and how far off that may be; both
    in seconds."""

    value: float
    error: float
    first: float
    second: float

    @property
    def is_decided(self) -> bool:
        """Whether it can be told from noise which one is faster."""
        return abs(1 - self.value) > SURE * self.error

    @property
    def is_gain(self) -> bool:
        """Whether the second one is faster, by so much that it is worth while."""
        return self.is_decided and self.value < WORTH


def compared(
    first: Callable[[], float], second: Callable[[], float], until: float | None = None
) -> Ratio:
    """The ratio of two programs, each of which tells the seconds of one measurement.

    It ends as soon as it is decided, or with the time that is left: `until` is by the clock of
    `time.monotonic`.
    """
    pairs: list[tuple[float, float]] = []
    while len(pairs) < MOST:
        if len(pairs) % 2:
            other, one = second(), first()
        else:
            one, other = first(), second()
        pairs.append((one, other))
        if len(pairs) >= FEW and is_past(until):
            break
        if len(pairs) >= LEAST and ratio_of(pairs).is_decided:
            break
    return ratio_of(pairs)


def is_past(until: float | None) -> bool:
    """Whether a time by the clock of `time.monotonic` has come; None never does."""
    return until is not None and time.monotonic() >= until


def ratio_of(pairs: Sequence[tuple[float, float]]) -> Ratio:
    """The ratio that pairs of measurements, each taken one after the other, come to."""
    ratios = [other / one for one, other in pairs]
    firsts, seconds = zip(*pairs, strict=True)
    return Ratio(median(ratios), error_of(ratios), median(firsts), median(seconds))


def error_of(values: Sequence[float]) -> float:
    """How far off the median of some measurements may be, in their unit."""
    middle = median(values)
    return MEDIAN_ERROR * median(abs(each - middle) for each in values) / sqrt(len(values))
