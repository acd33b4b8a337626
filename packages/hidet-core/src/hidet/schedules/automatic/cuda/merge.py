"""Accumulators of many threads become one that all of them know, always in the same order."""

from __future__ import annotations

from hidet.ir.expr import Const, Expr, convert
from hidet.ir.stmt import Assign, Body, Declare
from hidet.lang import part, shared_tensor, static, unroll
from hidet.lang.cuda import shfl_xor_sync, syncthreads, threadIdx
from hidet.schedules.automatic.cuda.writing import write
from hidet.schedules.automatic.emit import Accumulator
from hidet.target import WARP
from hidet.types import i32, u32

EVERY_LANE = Const(0xFFFFFFFF, u32)


@part
def across_warp(total: Accumulator) -> None:
    """Merge the accumulators of a warp's lanes."""
    for distance in static((16, 8, 4, 2, 1)):
        write(total.merge([exchanged(var, distance) for var in total.variables]))


def exchanged(value: Expr, distance: int) -> Expr:
    """The value that the lane has whose number differs in a bit: shuffles move 16 bits or more."""
    wide = i32 if value.dtype.bits < 16 else value.dtype
    return convert(shfl_xor_sync(EVERY_LANE, convert(value, wide), distance), value.dtype)


@part
def across_block(total: Accumulator, warps: int) -> None:
    """Merge the accumulators of a block's warps through shared memory; all threads read them."""
    kept = [shared_tensor(var.dtype, warps) for var in total.variables]
    if threadIdx.x % WARP == 0:
        for told, var in static(zip(kept, total.variables, strict=True)):
            told[threadIdx.x // WARP] = var
    syncthreads()
    write(restarted(total))
    for warp in unroll(warps):
        write(total.merge([told[warp] for told in kept]))


def restarted(total: Accumulator) -> Body:
    """The accumulator as it was before the first value."""
    return tuple(
        Assign(declared.var, declared.init)
        for declared in total.start()
        if isinstance(declared, Declare) and declared.init is not None
    )


class Own:
    """A reduction of a thread, a warp or a block, which become known one after the other."""

    def __init__(self, number: int, total: Accumulator, width: int, threads: int) -> None:
        self.numbers, self.total = (number,), total
        self.width, self.threads = width, threads

    def prepare(self) -> None:
        """Nothing has to be there before."""

    def start(self, number: int) -> Accumulator:
        """A thread begins to reduce what it has of a row."""
        write(self.total.start())
        return self.total

    @part
    def finish(self, again: Expr) -> None:
        """All threads of the row know the result."""
        if self.width > 1:
            across_warp(self.total)
        if self.width > WARP:
            across_block(self.total, self.threads // WARP)
