"""Which candidates may still be the fastest, by the cost model and by how far off it was so far."""

from __future__ import annotations

from collections.abc import Mapping

from hidet.schedules.base import Choice

ENOUGH = 16
"""Measured points of a schedule that say how far off the cost model is for it."""
SLACK = 0.3
"""By what part of the least error seen so far that of a point not yet measured may be less."""


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

    def measured(self, choice: Choice, seconds: float) -> None:
        """One candidate's time; it may seem longer than it is, by the factor `noise`."""
        if choice not in self.estimates:
            return
        name, error = choice.schedule, seconds / self.noise - self.estimates[choice]
        self.seen[name] = self.seen.get(name, 0) + 1
        self.error[name] = min(error, self.error.get(name, error))

    def least(self, choice: Choice) -> float:
        """A time that the candidate hardly stays below; 0 while too little is known."""
        if self.seen.get(choice.schedule, 0) < ENOUGH or choice not in self.estimates:
            return 0.0
        error = self.error[choice.schedule]
        return self.estimates[choice] + error - SLACK * abs(error)
