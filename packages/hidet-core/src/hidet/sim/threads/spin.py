"""Loops that only look: an iteration that changes nothing waits for others, like any other wait."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidet.ir.expr import Var
from hidet.sim.memory import Pointer
from hidet.sim.threads.simt_group import SimtGroup, Wait
from hidet.sim.values import Mask, Value


class Spin:
    """The iterations of one `while` loop: each is a move, unless nothing changes in it."""

    def __init__(self, simt: SimtGroup, site: int, looks: bool) -> None:
        self.simt = simt
        self.looks = looks
        """Whether it looks at what others may change; otherwise it never ends by itself."""
        self.site = site
        self.effects = -1
        self.values: dict[Var, Value] = {}
        self.wait: Wait | None = None

    def turned(self, mask: Mask) -> None:
        """An iteration has ended, after which the threads of the mask go on."""
        run, simt = self.simt.run, self.simt
        same = self.looks and run.progress == self.effects
        if not same or not unchanged(self.values, simt.env):
            self.end()
            run.iterations += 1
            self.effects, self.values = run.progress, dict(simt.env)
            return
        if self.wait is None:
            self.wait = Wait(simt, mask, self.site, self.what)
            run.waits.append(self.wait)
        self.wait.mask, simt.still = mask, True

    def what(self) -> str:
        """What the loop waits for, in words."""
        return self.simt.looked() if self.simt.looked else "what it looks at to change"

    def end(self) -> None:
        """The loop does not wait."""
        self.simt.still = False
        if self.wait is not None:
            self.simt.run.waits.remove(self.wait)
            self.wait = None


def unchanged(before: dict[Var, Value], after: dict[Var, Value]) -> bool:
    """Whether all variables have the values they had."""
    return len(before) == len(after) and all(
        equal(before.get(var), value) for var, value in after.items()
    )


def equal(before: Any, after: Any) -> bool:
    """Whether a value is the same for every thread."""
    if before is after:
        return True
    if isinstance(before, Pointer) and isinstance(after, Pointer):
        return before.buffer is after.buffer and equal(before.offset, after.offset)
    return bool(np.array_equal(before, after))
