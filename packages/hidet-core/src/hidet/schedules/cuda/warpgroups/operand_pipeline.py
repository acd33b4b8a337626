"""The pipeline of a contraction by warpgroups (sm_90a): one thread loads tiles, others multiply.

A k-iteration is a tile of each operand, 128 bytes along k. Iterations are counted on from one tile
of the result to the next, so that copies for that one run while the last one is being written.
Weights that a block needs first are loaded ahead of its wait for the kernels before
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
from hidet.schedules.cuda.warpgroups.groups import PRODUCER_REGISTERS, Warpgroups, accumulator_type
from hidet.schedules.cuda.warpgroups.operand import STEP_BYTES, Operand, OperandTiles, step_of
from hidet.schedules.cuda.warpgroups.pipeline import FULL, Pipeline, begin
from hidet.schedules.cuda.warpgroups.tile_order import Order, Tile
from hidet.target import WARP, WARPGROUP
from hidet.types import DType


@record
class OperandPipeline:
    """The stages of a block, through which both operands of a contraction go."""

    point: Warpgroups
    a: OperandTiles
    b: OperandTiles
    pipe: Pipeline

    @property
    def wide(self) -> DType:
        """The type of the accumulators."""
        return accumulator_type(self.a.side.of.dtype)

    @part
    def begin(self, order: Order, number: Int, first: Int, iterations: Int) -> None:
        """For all threads: barriers are made, and copies of the weights of a tile's first
        iterations are started, as many as there are stages."""
        for tiles in static((self.a, self.b)):
            if tiles.side.loaded < tiles.side.extent:
                tiles.side.clear(tiles.tiles, self.point.stages, self.point.threads)
        begin([self.pipe], [self.a.boxes, self.b.boxes], 1, self.point.consumers // WARP)
        if threadIdx.x == self.point.consumers:
            tile = order.tile(number)
            for iteration in range(self.iterations_ahead(iterations)):
                self.fill(iteration, tile, first + iteration)

    def iterations_ahead(self, iterations: Any) -> Any:
        """In how many of the first k-iterations b is loaded ahead."""
        return minimum(self.point.stages, iterations) if self.b.side.ahead else 0

    @part
    def fill(self, stage: Int, tile: Tile, iteration: Int) -> None:
        """For one thread: a stage expects its tiles, and the copy of that of b is started."""
        full = self.pipe.barrier(FULL, stage)
        mbarrier_arrive_expect_tx(full, self.a.side.loaded_bytes + self.b.side.loaded_bytes)
        self.b.side.load(self.b, stage, full, tile, iteration)

    @part
    def produce(self, tile: Tile, first: Int, iterations: Int) -> None:
        """For one thread: it loads the tiles of all k-iterations."""
        for iteration in range(iterations):
            stage, at = self.pipe.stage(iteration), first + iteration
            if self.pipe.count + iteration >= self.iterations_ahead(iterations):
                self.pipe.acquire(iteration)
                self.fill(stage, tile, at)
            self.a.side.load(self.a, stage, self.pipe.barrier(FULL, stage), tile, at)
        self.pipe.advance(iterations)

    @part
    def produce_all(self, order: Order, tiles: Int, iterations: Int) -> None:
        """For the threads that do not multiply: one loads the operands of all the block's tiles."""
        if self.point.reallocates:
            setmaxnreg_dec(PRODUCER_REGISTERS)
        if threadIdx.x == self.point.consumers:
            for number in range(blockIdx.x, tiles, gridDim.x):
                self.produce(order.tile(number), 0, iterations)

    @part
    def consume(self, accumulators: Registers, iterations: Int) -> None:
        """For warpgroups: each multiplies its 64 rows. The products of one iteration run while the
        next is awaited."""
        stages, columns, dtype = self.point.stages, self.point.columns, self.a.side.of.dtype
        group = threadIdx.x // WARPGROUP
        for v in static(range(columns // 2)):
            accumulators[v] = 0 if dtype.is_integer else 0.0
        wgmma_fence(accumulators)
        for iteration in range(iterations):
            stage = self.pipe.wait(iteration)
            first_a = self.a.side.descriptor(self.a.tiles, stage, group * 64)
            first_b = self.b.side.descriptor(self.b.tiles, stage, 0)
            wgmma_fence()
            for deep in static(range(self.a.side.row_bytes // STEP_BYTES)):
                a = first_a.advance(self.a.side.step_bytes * deep)
                b = first_b.advance(self.b.side.step_bytes * deep)
                wgmma(a, b, accumulators, f"m64n{columns}k{step_of(dtype)}")
            wgmma_commit_group()
            # The products of the iteration before are done: its stage may be filled again.
            wgmma_wait_group(1)
            if iteration > 0:
                self.pipe.release(self.pipe.stage(iteration + stages - 1))
        wgmma_wait_group(0, accumulators)
        self.pipe.release(self.pipe.stage(iterations + stages - 1))
        self.pipe.advance(iterations)


@part
def tiles_of(side: Operand, operand: Any, stages: int) -> OperandTiles:
    """The tiles of an operand in shared memory, of so many stages."""
    boxes = side.map(operand)
    tiles = shared_tensor(side.of.dtype, (stages, *side.tile), side.layout(stages))
    return OperandTiles(side, boxes, tiles)
