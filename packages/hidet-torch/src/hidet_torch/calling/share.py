"""How much of a compiled region's calls PyTorch takes, found out on a few early calls.

A region that is hardly faster than eager PyTorch, or slower, says so once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from time import perf_counter
from typing import Any

from hidet.frontend.importing.coverage import Coverage
from hidet.frontend.importing.report import dominated
from hidet.frontend.running.execute import HostStep, View
from hidet_torch.calling.caller import warn

FIRST, CALLS = 2, 5
"""How many calls are passed over, since they load and allocate, and how many are looked at."""

MOST = 0.5
"""From which share on, of the operators or of the time of calls, PyTorch has most."""


class Share:
    """PyTorch's share of a region, whose `coverage` names what it runs.

    On a GPU the host does not see how long kernels take: there only the operators count. `clock`
    tells seconds.
    """

    def __init__(
        self, coverage: Coverage, device: str, clock: Callable[[], float] = perf_counter
    ) -> None:
        self.coverage, self.has_time, self.clock = coverage, device == "cpu", clock
        self.shares: list[float] = []
        """The shares of the time of the calls so far."""
        self.taken = 0.0
        """Seconds that PyTorch took of the call under way."""

    @property
    def is_known(self) -> bool:
        """Whether enough calls were looked at."""
        return len(self.shares) >= FIRST + CALLS

    def timed(self, step: HostStep) -> HostStep:
        """A step of PyTorch's, whose time counts as long as that is asked."""

        def run(reads: Sequence[View], writes: Sequence[View]) -> None:
            if self.is_known:
                return step(reads, writes)
            begin = self.clock()
            step(reads, writes)
            self.taken += self.clock() - begin
            return None

        return run

    def watch(self, call: Any) -> None:
        """Look at the next calls of a `GraphCall`, then warn if there is a reason."""
        usual = call.run

        def run(boxed: list[Any]) -> list[Any]:
            self.taken, begin = 0.0, self.clock()
            found: list[Any] = usual(boxed)
            self.shares.append(self.taken / (self.clock() - begin))
            if self.is_known and call.run is run:
                call.run = usual
                self.tell()
            return found

        call.run = run

    def tell(self) -> None:
        """Warn if PyTorch has most of the operators, or of the time of calls."""
        left = sum(map(len, self.coverage.left.values()))
        share = median(self.shares[FIRST:]) if self.has_time else None
        if left > MOST * len(self.coverage.uses) or (share or 0) > MOST:
            warn(dominated(self.coverage, "PyTorch", share))
