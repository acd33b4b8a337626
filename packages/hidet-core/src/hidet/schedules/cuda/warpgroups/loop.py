"""The tile loops of warpgroups (sm_90a): which tiles a block multiplies, and which threads do what.

The epilogue is a record that these loops ask for the registers that it needs during the main loop,
to prefetch into these, and to write a tile.
"""

from __future__ import annotations

from typing import Any

from hidet.lang import (
    Int,
    Registers,
    Shared,
    cdiv,
    part,
    record,
    register_tensor,
    static,
    vectorize,
)
from hidet.lang.cuda import blockIdx, cluster_sync, gridDim, setmaxnreg_inc, syncwarp, threadIdx
from hidet.mapping.fragments import wgmma_c
from hidet.schedules.cuda.cluster_partials import ClusterPartials
from hidet.schedules.cuda.epilogue import Epilogue
from hidet.schedules.cuda.warpgroups.groups import CONSUMER_REGISTERS
from hidet.schedules.cuda.warpgroups.operand_pipeline import OperandPipeline
from hidet.schedules.cuda.warpgroups.tile_order import Order, Tile
from hidet.target import WARPGROUP


@part
def take_tiles(pipeline: OperandPipeline, order: Order, tiles: Any, end: Any) -> None:
    """A block takes whole tiles one after the other: `end` writes one while the next is loaded."""
    iterations = pipeline.a.side.iterations
    pipeline.begin(order, blockIdx.x, 0, iterations)
    if threadIdx.x < pipeline.point.consumers:
        if pipeline.point.reallocates:
            setmaxnreg_inc(CONSUMER_REGISTERS)
        accumulators = register_tensor(pipeline.wide, pipeline.point.columns // 2)
        for number in range(blockIdx.x, tiles, gridDim.x):
            tile = order.tile(number)
            held = end.registers()
            end.prefetch(held, tile)
            pipeline.consume(accumulators, iterations)
            end.write(accumulators, held, tile)
    else:
        pipeline.produce_all(order, tiles, iterations)


@part
def split_tile(
    pipeline: OperandPipeline, order: Order, partials: ClusterPartials, end: Any
) -> None:
    """Split-K: each block of a cluster multiplies a tile over a part of k; `end` adds up a share of
    the tile."""
    point = pipeline.point
    iterations = cdiv(pipeline.a.side.iterations, point.slices)
    number, share = blockIdx.x // point.slices, blockIdx.x % point.slices
    pipeline.begin(order, number, share * iterations, iterations)
    tile = order.tile(number)
    held = end.registers()
    if threadIdx.x < point.consumers:
        end.prefetch(held, tile, share)
        accumulators = register_tensor(pipeline.wide, point.columns // 2)
        pipeline.consume(accumulators, iterations)
        store_partials(accumulators, partials.partials, point.columns)
    elif threadIdx.x == point.consumers:
        pipeline.produce(tile, share * iterations, iterations)
    syncwarp()
    cluster_sync()
    if threadIdx.x < point.consumers:
        end.write(partials, held, tile, share)
    # A block's shared memory goes with it: it stays until all others have read there.
    cluster_sync()


@part
def store_partials(accumulators: Registers, partials: Shared, columns: int) -> None:
    """For warpgroups: accumulators go to shared memory as split-K partials."""
    own = wgmma_c(columns)
    thread, group = threadIdx.x % WARPGROUP, threadIdx.x // WARPGROUP
    row = group * 64 + own.task(thread, 0)[0]
    for block, half in static([(b, h) for b in range(columns // 8) for h in range(2)]):
        down = own.task(0, block, half, 0)[0]
        for v in vectorize(2):
            column = own.task(thread, block, half, v)[1]
            partials[0, 0, row + down, column] = accumulators[block * 4 + half * 2 + v]


@record
class SplitEpilogue:
    """The epilogue of a contraction whose k the blocks of a cluster divide."""

    end: Epilogue

    def registers(self) -> None:
        """Nothing is prefetched."""

    @part
    def prefetch(self, held: None, tile: Tile, share: Int) -> None:
        """Nothing is prefetched."""

    @part
    def write(self, partials: ClusterPartials, held: None, tile: Tile, share: Int) -> None:
        """The partials of all blocks become elements of the result."""
        partials.add(self.end, tile.z, share, tile.top, tile.left)
