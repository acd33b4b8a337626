"""A multistage pipeline of asynchronous copies: all threads of a block copy, and all of them read.

While one stage is read, the copies of the next ones are under way: an iteration waits for copies
that began some iterations before it, and one barrier is enough for it, as the stage that is filled
next was read an iteration ago. PTX ISA: cp.async.
"""

from __future__ import annotations

from typing import Any

from hidet.lang import Int, part, record, static
from hidet.lang.cuda import cp_async_commit_group, cp_async_wait_group, syncthreads


@record
class CopyPipeline:
    """`stages` buffers, and a record whose part `load(stage, iteration)` starts an iteration's
    copies. What its part `begin()` starts arrives with the first ones."""

    stages: int
    source: Any

    @property
    def ahead(self) -> int:
        """By how many iterations copies are started before they are read."""
        return max(self.stages - 1, 1)

    @part
    def begin(self, iterations: Any) -> None:
        """Start the copies of the first iterations."""
        for iteration in static(range(self.ahead)):
            if iteration < iterations:
                self.source.load(iteration, iteration)
                if iteration == 0:
                    self.source.begin()
            cp_async_commit_group()

    @part
    def wait(self) -> None:
        """Wait until the copies of the next iteration have arrived."""
        cp_async_wait_group(self.ahead - 1)
        syncthreads()

    @part
    def step(self, following: Int, iterations: Any) -> None:
        """Wait for the next iteration's copies, then start those of iteration `following`, which is
        `ahead` iterations later."""
        self.wait()
        self.load(following, iterations)

    @part
    def load(self, following: Int, iterations: Any) -> None:
        """Start the copies of iteration `following`; there are none after the last iteration."""
        if following < iterations:
            self.source.load(following % self.stages, following)
        cp_async_commit_group()
