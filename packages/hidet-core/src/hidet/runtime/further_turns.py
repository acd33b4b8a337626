"""Loops of which nobody knows how long they take: a graph runs so many turns, then the host looks
whether there are more, so that an endless loop can be interrupted."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.runtime.graph_region import TURNS, LoopNodes
from hidet.runtime.segment import Segment
from hidet.runtime.stream_region import StreamMemory


class FurtherTurns:
    """The turns of a loop beyond those that the graph before has run, as nodes of another one."""

    def __init__(self, loop: LoopNodes) -> None:
        self.loop, self.segment = loop, Segment([loop], [frozenset()])

    def run(self, pointers: Sequence[int], stream: int) -> None:
        """Wait for the loop; run more turns as long as there were as many as a graph may run."""
        loop, memory = self.loop, StreamMemory(stream)
        loop.start = TURNS
        while memory.number(pointers[loop.step.turn]) >= loop.start:
            self.segment.run(pointers, loop.buffers, stream)
            loop.start += TURNS

    def forget(self) -> None:
        """Drop the graph; the next run builds it again."""
        self.segment.forget()
