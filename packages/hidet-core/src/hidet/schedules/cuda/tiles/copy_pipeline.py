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
    """So many stages, and a record whose part `load(stage, turn)` starts an iteration's copies;
    what `begin()` starts comes with the first ones."""

    stages: int
    source: Any

    @property
    def ahead(self) -> int:
        """Iterations that copies begin before they are needed; the only one of a single stage."""
        return max(self.stages - 1, 1)

    @part
    def begin(self, turns: Any) -> None:
        """The copies of the first iterations are under way."""
        for turn in static(range(self.ahead)):
            if turn < turns:
                self.source.load(turn, turn)
                if turn == 0:
                    self.source.begin()
            cp_async_commit_group()

    @part
    def wait(self) -> None:
        """What the next iteration reads is there."""
        cp_async_wait_group(self.ahead - 1)
        syncthreads()

    @part
    def step(self, following: Int, turns: Any) -> None:
        """What the next iteration reads is there, and the copies of iteration `following`, which is
        `ahead` of it, are on their way behind the others."""
        self.wait()
        self.load(following, turns)

    @part
    def load(self, following: Int, turns: Any) -> None:
        """The copies of an iteration are on their way behind the others; none of one after the
        last."""
        if following < turns:
            self.source.load(following % self.stages, following)
        cp_async_commit_group()
