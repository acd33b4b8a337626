"""Accumulators of many threads are merged, always in the same order, so that all of them know."""

from __future__ import annotations

from hidet.ir.expr import Expr, convert
from hidet.ir.stmt import Assign, Body, Declare
from hidet.lang import Shared, part, shared_tensor, static, unroll
from hidet.lang.cuda import syncthreads, threadIdx
from hidet.schedules.automatic.cuda.grid import write
from hidet.schedules.automatic.emit import Accumulator
from hidet.schedules.cuda.lane_sums import exchanged
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


class Own:
    """A reduction within a thread, a warp or a block, finished before the next one starts."""

    def __init__(self, number: int, total: Accumulator, width: int, threads: int) -> None:
        self.numbers, self.total = (number,), total
        self.width, self.threads = width, threads

    def prepare(self) -> None:
        """There is nothing to declare or initialise before the first row."""

    def start(self, number: int) -> Accumulator:
        """Start the reduction of a thread's elements of a row."""
        write(self.total.start())
        return self.total

    @part
    def finish(self, iteration: Expr) -> None:
        """All threads of the row know the result."""
        if self.width > 1:
            across_warp(self.total)
        if self.width > WARP:
            across_block(self.total, self.threads // WARP)
