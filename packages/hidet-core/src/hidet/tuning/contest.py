"""Which of an operator's candidates is the fastest: best guesses first, the slow dropped early.

Each candidate is compiled, checked and timed a few times as soon as it is there; those that cannot
be the best, by what the cost model says and how far off it was, are not compiled. Those near the
best go through rounds of twice as many measurements each, in turns so that a device that gets
slower is so for all; each round drops the slower half.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from hidet.schedules.base import Choice
from hidet.tuning.prospects import Prospects
from hidet.tuning.record import Trial, name_of
from hidet.tuning.report import Bar

FIRST = 3
"""Measurements of a candidate that was just compiled, if the first of them is near the best."""
ROUNDS = (4, 8, 16)
BURST = 2
"""Measurements of one candidate in a row, before the next candidate's."""
ROUND_SECONDS = 0.5
"""A round is over after so long, once each candidate had a burst."""
NEAR = 1.3
"""How much slower than the best a candidate may be to stay in the next round."""
GAIN = 0.98
"""What part of the time of the cost model's own choice another one has to stay below."""


class Refused(Exception):
    """A candidate is never to be chosen: it does not compile, fails, or computes nonsense."""


class Bench(Protocol):
    """Where candidates are compiled and run; one measurement at a time."""

    ahead: int
    """How many candidates are compiled while others are measured."""
    noise: float
    """How much slower than it is a candidate may seem while others are compiled."""

    def start(self, choice: Choice) -> None:
        """Let a compiler take a candidate."""

    def spare(self) -> None:
        """Compilers have nothing to begin with here any more."""

    def ready(self, choices: Sequence[Choice], seconds: float | None) -> Choice | None:
        """The first whose compiler is done, after waiting for so long at most (None: until one is);
        None if there is none."""

    def check(self, choice: Choice) -> None:
        """Run a compiled candidate once; raises Refused unless it computes what it should."""

    def time(self, choice: Choice, repeats: int) -> list[float]:
        """Seconds of up to so many runs, one at least; raises Refused if one fails."""

    def typical(self, times: Sequence[float]) -> float:
        """The time that stands for several."""


class Contest:
    """The candidates of one operator on their way through the rounds."""

    def __init__(
        self,
        candidates: Sequence[Choice],
        bench: Bench,
        bar: Bar,
        until: float | None = None,
        judged: Callable[[], None] = lambda: None,
        prospects: Prospects | None = None,
    ) -> None:
        self.candidates, self.bench, self.bar, self.until = candidates, bench, bar, until
        self.judged = judged
        """What to do after each candidate."""
        self.prospects = prospects or Prospects({}, bench.noise)
        self.hopeless: list[Choice] = []
        """Candidates that were left out: by what is known they cannot be the best."""
        self.times: dict[Choice, float] = {}
        self.refused: dict[Choice, str] = {}
        self.complete = False

    def run(self) -> None:
        """All rounds, or until the time is up; what is known is kept also after Ctrl-C."""
        self.complete = self.screen() and all(map(self.round, ROUNDS))

    @property
    def left(self) -> float | None:
        """Seconds that are left; None if there is no limit."""
        return None if self.until is None else max(0.0, self.until - time.monotonic())

    @property
    def ranked(self) -> list[Choice]:
        """The candidates that can be chosen, the fastest first."""
        return sorted(self.times, key=self.times.__getitem__)

    @property
    def winner(self) -> Choice | None:
        """The fastest so far; the cost model's own choice unless the gain can be told from noise.

        None if nothing was measured.
        """
        own = self.candidates[0]
        best = self.ranked[0] if self.times else None
        if best is None or own not in self.times:
            return best
        return best if self.times[best] < GAIN * self.times[own] else own

    @property
    def best_seconds(self) -> float | None:
        """The shortest time so far."""
        return min(self.times.values(), default=None)

    @property
    def trials(self) -> list[Trial]:
        """What is known of the candidates."""
        timed = [Trial(name_of(each), self.times[each]) for each in self.ranked]
        return timed + [Trial(name_of(each), None, why) for each, why in self.refused.items()]

    def screen(self) -> bool:
        """A first look at each while the next ones are compiled; False at the deadline."""
        waiting, started = deque(self.candidates), deque[Choice]()
        while True:
            while waiting and len(started) < self.bench.ahead:
                started += self.begun(waiting.popleft())
            if not started:
                return True
            if not waiting:
                self.bench.spare()
            chosen = self.bench.ready(started, self.left)
            if chosen is None or self.left == 0:
                return False
            started.remove(chosen)
            self.look(chosen)
            self.bar.step(self.best_seconds)
            self.judged()

    def begun(self, choice: Choice) -> list[Choice]:
        """The candidate, now being compiled; or nothing, if it is not worth it."""
        best = self.best_seconds
        if best is not None and self.prospects.least(choice) > best:
            self.hopeless.append(choice)
            self.bar.step(best)
            return []
        self.bench.start(choice)
        return [choice]

    def look(self, choice: Choice) -> None:
        """Check a candidate, and time it."""
        try:
            self.bench.check(choice)
            best = self.best_seconds
            times = self.bench.time(choice, 1)
            if best is None or times[0] <= NEAR * self.bench.noise * best:
                times += self.bench.time(choice, FIRST - 1)
            self.times[choice] = self.bench.typical(times)
            self.prospects.measured(choice, self.times[choice])
        except Refused as refusal:
            self.refused[choice] = str(refusal)

    def round(self, repeats: int) -> bool:
        """Time those that are near the best again, half as many each time."""
        first = repeats == ROUNDS[0]
        limit = NEAR * (self.bench.noise if first else 1.0) * (self.best_seconds or 0)
        near = [each for each in self.ranked if self.times[each] <= limit]
        last = {self.candidates[0]} & set(self.times)  # the one that the others are compared with
        chosen = near if first else near[: max(2, (len(near) + 1) // 2)]
        chosen += [each for each in last if each not in chosen]
        if len(chosen) < 2:
            return True
        fresh: dict[Choice, list[float]] = {each: [] for each in chosen}
        end = time.monotonic() + ROUND_SECONDS
        for burst in range(-(-repeats // BURST)):
            if burst and time.monotonic() >= end:
                break
            for each in list(fresh):
                if self.left == 0:
                    return False
                self.again(each, fresh)
        return True

    def again(self, choice: Choice, fresh: dict[Choice, list[float]]) -> None:
        """One more burst; the first measurements, taken beside compilers, no longer count."""
        try:
            fresh[choice] += self.bench.time(choice, BURST)
            self.times[choice] = self.bench.typical(fresh[choice])
            self.bar.best(self.best_seconds)
        except Refused as refusal:
            del fresh[choice], self.times[choice]
            self.refused[choice] = str(refusal)
