"""Watching passes run: check the program, write it down, take the time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

from hidet.ir.check import check
from hidet.ir.kernel import Kernel
from hidet.passes.base import Pass, Removes


@dataclass
class Check:
    """Checks the kernel after each pass; raises BadKernel."""

    gone: dict[str, Removes] = field(default_factory=dict)

    def __call__(self, after: Pass, kernel: Kernel) -> None:
        """Check that the kernel is well formed and what is removed has stayed away."""
        self.gone[kernel.name] = self.gone.get(kernel.name, ()) + after.removes
        check(kernel, forbidden=self.gone[kernel.name])


@dataclass
class Dump:
    """Writes `folder/01-unfold_tasks.txt` and so on, for the kernel of one run."""

    folder: Path
    count: int = 0

    def __call__(self, after: Pass, kernel: Kernel) -> None:
        """Write the kernel as text."""
        self.count += 1
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{self.count:02}-{after.name}.txt").write_text(f"{kernel}\n")


@dataclass
class Time:
    """Takes the time of each pass, in seconds, in `spent`."""

    spent: dict[str, float] = field(default_factory=dict)
    last: float = field(default_factory=time.perf_counter)

    def __call__(self, after: Pass, kernel: Kernel) -> None:
        """Book the time since the last pass."""
        now = time.perf_counter()
        self.spent[after.name] = self.spent.get(after.name, 0.0) + now - self.last
        self.last = now
