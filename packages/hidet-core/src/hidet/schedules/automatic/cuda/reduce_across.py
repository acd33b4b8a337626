"""Reductions across the threads that share them, always in the same order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from hidet.ir.expr import convert
from hidet.ir.stmt import Assign, Body, Declare
from hidet.lang import Int, Shared, part, shared_tensor, static, unroll
from hidet.lang.cuda import syncthreads, threadIdx
from hidet.schedules.automatic.cuda.grid import write
from hidet.schedules.automatic.emit import Accumulator
from hidet.schedules.cuda.lane_reduction import exchanged
from hidet.target import WARP


@part
def across_warp(total: Accumulator) -> None:
    """Merge the accumulators of a warp's lanes."""
    for distance in static((16, 8, 4, 2, 1)):
        write(total.merge([exchanged(var, distance) for var in total.variables]))


@part
def across_block(total: Accumulator, warps: int) -> None:
    """Merge the accumulators of a block's warps through shared memory; all threads read them."""
    shared = [shared_tensor(var.dtype, warps) for var in total.variables]
    if threadIdx.x % WARP == 0:
        for partials, var in static(zip(shared, total.variables, strict=True)):
            partials[threadIdx.x // WARP] = var
    syncthreads()
    write(restarted(total))
    for warp in unroll(warps):
        write(total.merge([partials[warp] for partials in shared]))


@part
def add_up(total: Accumulator, parts: Shared) -> None:
    """Merge the parts of this thread's column, in their order."""
    write(total.start())
    for number in unroll(parts.shape[0]):
        write(total.merge([convert(parts[number, threadIdx.x], total.value.dtype)]))


def restarted(total: Accumulator) -> Body:
    """The accumulator as it was before the first value."""
    return tuple(
        Assign(declared.var, declared.init)
        for declared in total.start()
        if isinstance(declared, Declare) and declared.init is not None
    )


class Across(ABC):
    """Reductions of a row, `numbers` of the plan's, that the threads of the row finish together."""

    numbers: tuple[int, ...]

    @abstractmethod
    def prepare(self) -> None:
        """A part of kernels: declare and initialise what all rows need."""

    @abstractmethod
    def start(self, number: int) -> Any:
        """Start reduction `number` of a thread's elements; returns what takes them."""

    @abstractmethod
    def finish(self, iteration: Int) -> None:
        """A part of kernels: combine the threads' results of the row of an iteration."""


class Separate(Across):
    """One reduction of a thread, a warp or a block, finished before the next one starts."""

    def __init__(self, number: int, total: Accumulator, width: int, threads: int) -> None:
        self.numbers, self.total = (number,), total
        self.width, self.threads = width, threads

    def prepare(self) -> None:
        """There is nothing to declare before the row."""

    def start(self, number: int) -> Accumulator:
        write(self.total.start())
        return self.total

    @part
    def finish(self, iteration: Int) -> None:
        if self.width > 1:
            across_warp(self.total)
        if self.width > WARP:
            across_block(self.total, self.threads // WARP)
