"""The tile loops of warpgroups (sm_90a): which tiles a block sums up, and who does what meanwhile.

What becomes of sums is a record's affair, which these loops ask for the registers that it needs
while others sum up, to fill these, and to write a tile.
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
from hidet.schedules.cuda.warpgroups.groups import MANY
from hidet.schedules.cuda.warpgroups.ring import Ring
from hidet.schedules.cuda.warpgroups.tile_order import Order, Tile
from hidet.target import WARPGROUP


@part
def take_tiles(ring: Ring, order: Order, tiles: Any, end: Any) -> None:
    """A block takes whole tiles in turns: `end` writes one while the next one is brought."""
    turns = ring.a.side.turns
    ring.begin(order, blockIdx.x, 0, turns)
    if threadIdx.x < ring.point.consumers:
        if ring.point.borrows:
            setmaxnreg_inc(MANY)
        sums = register_tensor(ring.wide, ring.point.columns // 2)
        for number in range(blockIdx.x, tiles, gridDim.x):
            tile = order.tile(number)
            held = end.registers()
            end.prefetch(held, tile)
            ring.consume(sums, turns)
            end.write(sums, held, tile)
    else:
        ring.produce_all(order, tiles, turns)


@part
def share_tile(ring: Ring, order: Order, partials: ClusterPartials, end: Any) -> None:
    """The blocks of a cluster sum up a tile over a part of k each; `end` adds up a share of it."""
    point = ring.point
    turns = cdiv(ring.a.side.turns, point.slices)
    number, share = blockIdx.x // point.slices, blockIdx.x % point.slices
    ring.begin(order, number, share * turns, turns)
    tile = order.tile(number)
    held = end.registers()
    if threadIdx.x < point.consumers:
        end.prefetch(held, tile, share)
        sums = register_tensor(ring.wide, point.columns // 2)
        ring.consume(sums, turns)
        keep(sums, partials.partials, point.columns)
    elif threadIdx.x == point.consumers:
        ring.produce(tile, share * turns, turns)
    syncwarp()
    cluster_sync()
    if threadIdx.x < point.consumers:
        end.write(partials, held, tile, share)
    # A block's shared memory goes with it: it stays until all others have read there.
    cluster_sync()


@part
def keep(sums: Registers, partials: Shared, columns: int) -> None:
    """For warpgroups: the sums go where others will add them up."""
    own = wgmma_c(columns)
    thread, group = threadIdx.x % WARPGROUP, threadIdx.x // WARPGROUP
    row = group * 64 + own.task(thread, 0)[0]
    for block, half in static([(b, h) for b in range(columns // 8) for h in range(2)]):
        down = own.task(0, block, half, 0)[0]
        for v in vectorize(2):
            column = own.task(thread, block, half, v)[1]
            partials[0, 0, row + down, column] = sums[block * 4 + half * 2 + v]


@record
class SharedSums:
    """The end of a contraction of which the blocks of a cluster share sums."""

    end: Epilogue

    def registers(self) -> None:
        """Nothing is under way meanwhile."""

    @part
    def prefetch(self, held: None, tile: Tile, share: Int) -> None:
        """Nothing is under way meanwhile."""

    @part
    def write(self, partials: ClusterPartials, held: None, tile: Tile, share: Int) -> None:
        """The sums of all blocks become elements of the result."""
        partials.add(self.end, tile.z, share, tile.top, tile.left)
