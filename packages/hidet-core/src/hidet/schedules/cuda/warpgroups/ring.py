"""A multistage pipeline in shared memory (sm_90a): one thread loads tiles, warpgroups multiply.

Each stage has a barrier at which its copies arrive, and one at which those that multiply give it
back. A turn is a tile of each operand, 128 bytes along k; turns are counted on from one tile of the
result to the next, so that copies for that one run while the last one is being written. Weights
that a block needs first are brought ahead of its wait for the kernels before
(`passes/launches/overlap_launches.py`).
"""

from __future__ import annotations

from typing import Any

from hidet.lang import Int, Registers, minimum, part, record, shared_tensor, static
from hidet.lang.cuda import (
    blockIdx,
    gridDim,
    mbarrier_arrive_expect_tx,
    setmaxnreg_dec,
    threadIdx,
    wgmma,
    wgmma_commit_group,
    wgmma_fence,
    wgmma_wait_group,
)
from hidet.schedules.cuda.warpgroups.barriers import FULL, Pipeline, begin
from hidet.schedules.cuda.warpgroups.groups import FEW, Warpgroups, sum_type
from hidet.schedules.cuda.warpgroups.operand import STEP_BYTES, Held, Operand, step_of
from hidet.schedules.cuda.warpgroups.tile_order import Order, Tile
from hidet.target import WARP, WARPGROUP
from hidet.types import DType


@record
class Ring:
    """The stages of a block, through which both operands of a contraction go."""

    point: Warpgroups
    a: Held
    b: Held
    pipe: Pipeline

    @property
    def wide(self) -> DType:
        """The type of the sums."""
        return sum_type(self.a.side.of.dtype)

    @part
    def begin(self, order: Order, number: Int, first: Int, turns: Int) -> None:
        """For all threads: barriers are made, and weights of the first turns of a tile are on their
        way, as many as there is room for."""
        for held in static((self.a, self.b)):
            if held.side.brought < held.side.extent:
                held.side.clear(held.tiles, self.point.stages, self.point.threads)
        begin([self.pipe], [self.a.boxes, self.b.boxes], 1, self.point.consumers // WARP)
        if threadIdx.x == self.point.consumers:
            tile = order.tile(number)
            for turn in range(self.turns_ahead(turns)):
                self.fill(turn, tile, first + turn)

    def turns_ahead(self, turns: Any) -> Any:
        """In how many of the first k-iterations b is loaded ahead."""
        return minimum(self.point.stages, turns) if self.b.side.ahead else 0

    @part
    def fill(self, stage: Int, tile: Tile, turn: Int) -> None:
        """For one thread: a stage expects its tiles, of which that of b is on its way."""
        full = self.pipe.barrier(FULL, stage)
        mbarrier_arrive_expect_tx(full, self.a.side.brought_bytes + self.b.side.brought_bytes)
        self.b.side.load(self.b, stage, full, tile, turn)

    @part
    def produce(self, tile: Tile, first: Int, turns: Int) -> None:
        """For one thread: it loads the tiles of all k-iterations."""
        for turn in range(turns):
            stage = self.pipe.stage(turn)
            if self.pipe.count + turn >= self.turns_ahead(turns):
                self.pipe.acquire(turn)
                self.fill(stage, tile, first + turn)
            self.a.side.load(self.a, stage, self.pipe.barrier(FULL, stage), tile, first + turn)
        self.pipe.advance(turns)

    @part
    def produce_all(self, order: Order, tiles: Int, turns: Int) -> None:
        """For the threads that do not multiply: tiles of all that the block sums up are brought."""
        if self.point.borrows:
            setmaxnreg_dec(FEW)
        if threadIdx.x == self.point.consumers:
            for number in range(blockIdx.x, tiles, gridDim.x):
                self.produce(order.tile(number), 0, turns)

    @part
    def consume(self, sums: Registers, turns: Int) -> None:
        """For warpgroups: each multiplies its 64 rows. The products of one turn are under way while
        the next is awaited."""
        stages, columns, dtype = self.point.stages, self.point.columns, self.a.side.of.dtype
        group = threadIdx.x // WARPGROUP
        for v in static(range(columns // 2)):
            sums[v] = 0 if dtype.is_integer else 0.0
        wgmma_fence(sums)
        for turn in range(turns):
            stage = self.pipe.wait(turn)
            one = self.a.side.descriptor(self.a.tiles, stage, group * 64)
            two = self.b.side.descriptor(self.b.tiles, stage, 0)
            wgmma_fence()
            for deep in static(range(self.a.side.row_bytes // STEP_BYTES)):
                here = one.advance(self.a.side.step_bytes * deep)
                there = two.advance(self.b.side.step_bytes * deep)
                wgmma(here, there, sums, f"m64n{columns}k{step_of(dtype)}")
            wgmma_commit_group()
            # The products of the turn before are done: its tiles may be filled again.
            wgmma_wait_group(1)
            if turn > 0:
                self.pipe.release(self.pipe.stage(turn + stages - 1))
        wgmma_wait_group(0, sums)
        self.pipe.release(self.pipe.stage(turns + stages - 1))
        self.pipe.advance(turns)


@part
def held_by(side: Operand, operand: Any, stages: int) -> Held:
    """The tiles of an operand in shared memory, of so many stages."""
    boxes = side.map(operand)
    tiles = shared_tensor(side.of.dtype, (stages, *side.tile), side.layout(stages))
    return Held(side, boxes, tiles)
