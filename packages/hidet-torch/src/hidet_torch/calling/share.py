"""How much of a compiled region's calls PyTorch takes, found out on a few early calls.

A region that is hardly faster than eager PyTorch, or slower, says so once.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

from hidet.frontend.coverage import Coverage
from hidet.frontend.execute import HostStep, View
from hidet.frontend.report import dominated
from hidet_torch.calling.caller import warn

FIRST, CALLS = 2, 5
"""How many calls are passed over, since they load and allocate, and how many are looked at."""

MOST = 0.5
"""From which share on, of the operators or of the time of each call, PyTorch has most."""


class Share:
    """PyTorch's share of a region, whose `coverage` names what it runs.

    On a GPU the host does not see how long kernels take: there only the operators count.
    """

    def __init__(self, coverage: Coverage, device: str) -> None:
        self.coverage, self.has_time = coverage, device == "cpu"
        self.calls = 0
        self.least = 1.0
        """The least of the shares of the time of the calls so far."""
        self.taken = 0.0
        """Seconds that PyTorch took of the call under way."""

    @property
    def is_known(self) -> bool:
        """Whether enough calls were looked at."""
        return self.calls >= FIRST + CALLS

    def timed(self, step: HostStep) -> HostStep:
        """A step of PyTorch's, whose time counts as long as that is asked."""

        def run(reads: Sequence[View], writes: Sequence[View]) -> None:
            if self.is_known:
                return step(reads, writes)
            begin = perf_counter()
            step(reads, writes)
            self.taken += perf_counter() - begin
            return None

        return run

    def watch(self, call: Any) -> None:
        """Look at the next calls of a `GraphCall`, then warn if there is a reason."""
        usual = call.run

        def run(boxed: list[Any]) -> list[Any]:
            self.taken, begin = 0.0, perf_counter()
            found: list[Any] = usual(boxed)
            self.note(self.taken / (perf_counter() - begin))
            if self.is_known and call.run is run:
                call.run = usual
                self.tell()
            return found

        call.run = run

    def note(self, share: float) -> None:
        """Take in a call, of whose time PyTorch had a share."""
        self.calls += 1
        if self.calls > FIRST:
            self.least = min(self.least, share)

    def tell(self) -> None:
        """Warn if PyTorch has most of the operators, or of the time of each call."""
        left = sum(map(len, self.coverage.left.values()))
        share = self.least if self.has_time else None
        if left > MOST * len(self.coverage.uses) or (share or 0) > MOST:
            warn(dominated(self.coverage, "PyTorch", share))
