"""A multistage pipeline in shared memory: producers and consumers of a stage wait for each other.

Each stage has a barrier at which what fills it arrives, and one at which those who have read it
release it. Iterations take one stage after the other; each side counts on from one tile of a result
to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hidet.lang import Int, Map, Shared, address, part, record, shared_tensor, static
from hidet.lang.cuda import (
    fence_mbarrier_init,
    mbarrier_arrive,
    mbarrier_init,
    mbarrier_wait,
    syncthreads,
    threadIdx,
    tma_prefetch_map,
)
from hidet.target import WARP
from hidet.types import u64

FULL, EMPTY = 0, 1
"""The two barriers of a stage."""


@record
class Pipeline:
    """The barriers of so many stages."""

    stages: int
    bars: Shared
    at: tuple[int, ...] = ()
    """The index of its own barriers, where `bars` has those of several pipelines."""
    count: Int = 0
    """Iterations of the tiles before this one."""

    def stage(self, iteration: Any) -> Any:
        """The stage of an iteration of this tile."""
        return (self.count + iteration) % self.stages

    def barrier(self, which: int, stage: Any) -> Any:
        """A pointer to one of the two barriers of a stage."""
        return address(self.bars, *self.at, which, stage)

    @part
    def begin(self, producers: int, consumers: int) -> None:
        """For one thread: barriers are made, each for so many arrivals."""
        for stage in range(self.stages):
            mbarrier_init(self.barrier(FULL, stage), producers)
            mbarrier_init(self.barrier(EMPTY, stage), consumers)

    @part
    def acquire(self, iteration: Int) -> Int:
        """For producers: the stage of an iteration, once all consumers have released it."""
        stage = self.stage(iteration)
        mbarrier_wait(self.barrier(EMPTY, stage), ((self.count + iteration) // self.stages + 1) % 2)
        return stage

    @part
    def wait(self, iteration: Int) -> Int:
        """For consumers: the stage of an iteration, once it is full."""
        stage = self.stage(iteration)
        mbarrier_wait(self.barrier(FULL, stage), (self.count + iteration) // self.stages % 2)
        return stage

    @part
    def release(self, stage: Int) -> None:
        """For whole warps, all of whose lanes have read a stage."""
        if threadIdx.x % WARP == 0:
            mbarrier_arrive(self.barrier(EMPTY, stage))

    @part
    def advance(self, iterations: Int) -> None:
        """A tile of so many iterations is done."""
        self.count += iterations


@part
def begin(pipes: Sequence[Pipeline], maps: Sequence[Map], producers: int, consumers: int) -> None:
    """For all threads: the barriers of pipelines are made, each for so many arrivals."""
    if threadIdx.x == 0:
        for boxes in static(maps):
            tma_prefetch_map(boxes)
        for pipe in static(pipes):
            pipe.begin(producers, consumers)
        fence_mbarrier_init()
    syncthreads()


@part
def pipeline_of(stages: int) -> Pipeline:
    """A pipeline of so many stages, whose barriers are yet to be made."""
    return Pipeline(stages, shared_tensor(u64, (2, stages)))
