"""Which candidates may still be the fastest, by the cost model and by how far off it was so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import inf
from statistics import median

import numpy as np

from hidet.schedules.base import Choice
from hidet.tuning.verdict import Array

ENOUGH = 16
"""Measured points of a schedule that say how far off the cost model is for it."""
SLACK = 0.3
"""By what part of the least error seen so far that of a point not yet measured may be less."""
SPREAD = 0.1
"""How far the model is off from point to point, as a standard deviation of logarithms; an
estimate: over all operators the mean distance was 0.144 on an H200."""
DRAWS = 64


class Prospects:
    """The least times to expect of candidates, of which `estimates` are the cost model's times.

    The model is optimistic: it leaves out what it does not know. A point takes its estimate, and
    about as much on top as that schedule's points have taken at least.
    """

    def __init__(self, estimates: Mapping[Choice, float], noise: float) -> None:
        self.estimates, self.noise = estimates, noise
        self.seen: dict[str, int] = {}
        self.error: dict[str, float] = {}
        """The least error among the points of each schedule."""
        self.best = inf
        self.times: list[float] = []
        """What was measured by what was estimated."""

    def measured(self, choice: Choice, seconds: float) -> None:
        """One candidate's time; it may seem longer than it is, by the factor `noise`."""
        if choice not in self.estimates:
            return
        self.best = min(self.best, seconds)
        self.times.append(seconds / self.estimates[choice])
        name, error = choice.schedule, seconds / self.noise - self.estimates[choice]
        self.seen[name] = self.seen.get(name, 0) + 1
        self.error[name] = min(error, self.error.get(name, error))

    def least(self, choice: Choice) -> float:
        """A time that the candidate hardly stays below; 0 while too little is known."""
        if self.seen.get(choice.schedule, 0) < ENOUGH or choice not in self.estimates:
            return 0.0
        error = self.error[choice.schedule]
        return self.estimates[choice] + error - SLACK * abs(error)

    def gain(self, choices: Sequence[Choice]) -> float:
        """The seconds by which the best of these candidates is expected to be faster than the best
        that was measured or, where none was, than the first of these."""
        able = [e for e in choices if e in self.estimates and self.least(e) < self.best]
        if not able:
            return 0.0
        scale = median(self.times) if self.times else 1.0
        drawn = scale * np.array([self.estimates[each] for each in able]) * noise(len(able))
        known = self.best if self.times else drawn[:, 0]
        return float(np.maximum(known - drawn.min(axis=1), 0.0).mean())


@lru_cache(maxsize=64)
def noise(count: int) -> Array:
    """How many times as long as estimated so many points may take, in several draws."""
    return np.exp(SPREAD * np.random.default_rng(0).standard_normal((DRAWS, count)))
