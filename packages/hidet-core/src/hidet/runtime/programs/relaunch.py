"""Loops without a known bound: a graph runs a limited number of iterations, then the host checks
whether there are more, so that an endless loop can be interrupted."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.runtime.graphs.region import ITERATIONS, LoopNodes
from hidet.runtime.graphs.segment import Segment
from hidet.runtime.programs.stream_region import StreamMemory


class Relaunch:
    """The iterations of a loop beyond those of the graph before it, as nodes of another graph."""

    def __init__(self, loop: LoopNodes) -> None:
        self.loop, self.segment = loop, Segment([loop], [frozenset()])

    def run(self, pointers: Sequence[int], stream: int) -> None:
        """Wait for the loop; launch it again as long as it has used up its iterations."""
        loop, memory = self.loop, StreamMemory(stream)
        loop.start = ITERATIONS
        while memory.number(pointers[loop.step.iteration]) >= loop.start:
            self.segment.run(pointers, loop.buffers, stream)
            loop.start += ITERATIONS

    def forget(self) -> None:
        """Drop the graph; the next run builds it again."""
        self.segment.forget()
