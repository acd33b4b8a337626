"""Convolutions of few channels by warpgroups (sm_90a): first layers, which read images.

Blocks are persistent. Each has the weight in shared memory and loads the lines of a tile through
hooks (`overlap.py`). Some warps load, others multiply and write: a fence between a line's writes
and its use by products waits for all accesses that its thread has in flight. From the first result
of a warp on that is not finite, the warp writes nothing: it computes these results again at the
end (`overlap_products.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from hidet import options
from hidet.cost import REACHED_RATE, Work
from hidet.ir.kernel import Module
from hidet.lang import (
    Global,
    Int,
    Registers,
    attr,
    cast,
    cdiv,
    isfinite,
    minimum,
    part,
    register_tensor,
    script,
    script_module,
    select,
    shared_tensor,
)
from hidet.lang.cuda import (
    any_sync,
    barrier_sync,
    blockIdx,
    fence_proxy_async,
    gridDim,
    mbarrier_arrive,
    threadIdx,
)
from hidet.ops.windows.conv import Conv
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.contraction import names_of
from hidet.schedules.convolution import has_channels
from hidet.schedules.cuda.convolution.overlap import LINE, Overlap, overlap_of, overlaps
from hidet.schedules.cuda.convolution.overlap_lines import IN_FLIGHT, PlaneLines, Taps
from hidet.schedules.cuda.convolution.overlap_products import (
    LINE_BYTES,
    PADDING_LINES,
    WindowProducts,
)
from hidet.schedules.cuda.tiles.mma import by_tensor_cores
from hidet.schedules.cuda.warpgroups.epilogue import TileEpilogue
from hidet.schedules.cuda.warpgroups.groups import PIECE
from hidet.schedules.cuda.warpgroups.pair_epilogue import epilogue_of
from hidet.schedules.cuda.warpgroups.pipeline import FULL, Pipeline, begin, pipeline_of
from hidet.schedules.cuda.warpgroups.staged_store import staging_shape
from hidet.schedules.cuda.warpgroups.tile_order import Tile
from hidet.schedules.space import choice
from hidet.schedules.typical import estimated
from hidet.target import WARP, WARPGROUP, Target
from hidet.types import f32, i32

AT_ONCE = 2 * PIECE
"""Rows that the two warpgroups of a block multiply at once."""
PRODUCERS = WARPGROUP
"""Threads beside those that multiply, which load lines."""
ALL, NEVER = 0xFFFFFFFF, 0x7FFFFFFF
"""All lanes of a warp; the number of an iteration that never comes."""
CONSUMERS_BARRIER = 1
"""The barrier of those who multiply."""
MOST_RESIDENT = 4
"""Blocks that a multiprocessor holds at most."""
UNCOVERED = 0.5
"""The part of the products of a block during which it does nothing else; fitted to first layers of
AlexNet and of segmentation networks on an H200."""
FIRST = 550
"""Cycles until the first elements of an image are there to make lines of; an estimate."""


@dataclass(frozen=True)
class OverlapTile:
    """A block's tile of positions by output channels, and how many tiles' lines fit."""

    block: tuple[int, int] = choice((256, 64), (128, 64), (256, 128), (128, 128))
    stages: int = choice(2, 1)

    consumers = 2 * WARPGROUP
    """Threads that multiply and write: four warpgroups would wait for those that load."""
    threads = consumers + PRODUCERS
    """Threads of a block."""

    @property
    def columns(self) -> int:
        """Columns of a tile; a warpgroup has all of them."""
        return self.block[1]

    def length(self, p: Overlap) -> int:
        """Lines of a plane that a tile's windows read."""
        return self.block[0] + p.last_line

    @property
    def registers(self) -> int:
        """Registers of a thread, estimated: accumulators and the epilogue, or lines in flight."""
        return max(self.columns // 2 + 48, IN_FLIGHT * LINE // 2 + 40)

    def shared_bytes(self, p: Overlap) -> int:
        """The weight, the lines, what is about to be written, and the barriers."""
        lines = p.k // LINE * (self.columns + PADDING_LINES) + self.stages * p.planes * self.length(
            p
        )
        staged = self.consumers // WARP * 16 * (64 + 8) * p.c.dtype.nbytes
        return lines * LINE_BYTES + staged + 2 * 8 * self.stages

    def resident(self, p: Overlap, target: Target) -> int:
        """Blocks that a multiprocessor holds at once: while one writes, others multiply."""
        found = target.resident_blocks(self.threads, self.shared_bytes(p), self.registers)
        return max(1, min(MOST_RESIDENT, found))

    def tiles(self, p: Overlap) -> tuple[Any, Any, Any]:
        """Tiles of an image, of all images, and across."""
        each = cdiv(p.m, self.block[0])
        return each, each * p.batch, cdiv(p.n, self.columns)

    def fits(self, op: Conv, target: Target) -> bool:
        """Whether the point can be built for `op`."""
        return self.shared_bytes(overlap_of(op)) <= target.max_shared_bytes_per_block

    def cycles(self, p: Overlap, target: Target, each: int) -> float:
        """How long a multiprocessor takes for so many tiles; its blocks are in each other's way.
        Where one is alone there, nothing else goes on in a part of its products."""
        times = target.measured.wgmma
        lines = (
            p.planes
            * self.length(p)
            * (times.staged_vector + times.gathered_channel * estimated(p.op.each))
        )
        pieces = prod(self.block) / PIECE**2 * times.overlap_block
        if self.resident(p, target) == 1:
            pieces += UNCOVERED * 2 * prod(self.block) * p.k / times.rate
        return (
            each * (lines + pieces) * (times.serial_stages if self.stages == 1 and each > 1 else 1)
        )

    def work(self, op: Conv, target: Target) -> Work:
        """What `op` costs at this point: what the operations count is the time that the model gives
        to so many of them."""
        p, rate = overlap_of(op), target.measured.wgmma.rate
        read, written = p.nbytes
        _, down, across = self.tiles(p)
        tiles = estimated(down) * estimated(across)
        blocks = min(tiles, target.cores)
        cycles = FIRST + self.cycles(p, target, -(-tiles // target.cores))
        return Work(
            read, written, blocks * cycles * rate * REACHED_RATE, p.a.dtype.name, blocks,
            self.threads, tensor_core=True, shared_bytes=self.shared_bytes(p),
            registers=self.registers,
        )  # fmt: skip


def by_overlap(op: Conv, target: Target) -> bool:
    """Whether warpgroups may multiply these: by types, target and options, and as they lie."""
    return (
        overlaps(op)
        and has_channels(op)
        and target.has_feature("wgmma")
        and not options.fp16_reduction.get()
        and by_tensor_cores(overlap_of(op), target)
    )


@schedule_for(Conv, target="cuda", space=OverlapTile, when=by_overlap)
def conv_overlap(op: Conv, target: Target, point: OverlapTile) -> Scheduled:
    """Tiles of positions by channels with `wgmma`, out of lines that windows share."""
    return Scheduled(overlapped(op.name, overlap_of(op), point, target), point)


def overlapped(name: str, p: Overlap, point: OverlapTile, target: Target) -> Module:
    """The convolution as one kernel."""
    each, tiles, across = point.tiles(p)
    persistent, stages = point.resident(p, target) * target.cores, point.stages
    (rows, columns), length = point.block, point.length(p)
    dtype, bias_type = p.a.dtype, operand_type(p.bias, p.c)

    with script_module():

        @script(a=p.a, b=p.b, bias=bias_type, c=p.c)
        def product(a: Global, b: Global, bias: Global, c: Global) -> None:
            attr.func_name = name
            attr.cuda_grid_dim = (minimum(tiles, persistent), across)
            attr.cuda_block_dim = point.threads
            attr.cuda_min_blocks = point.resident(p, target)
            taps = shared_tensor(dtype, (p.k // LINE, columns + PADDING_LINES, LINE))
            lines = shared_tensor(dtype, (stages, p.planes, length, LINE))
            staged = shared_tensor(dtype, staging_shape(point.consumers // WARP))
            epilogue = epilogue_of(staged, bias, c, p, columns, f32 if p.bias else None, None)
            products, pipe = WindowProducts(p, columns, length, lines, taps), pipeline_of(stages)
            left = blockIdx.y * columns
            begin([pipe], [], PRODUCERS, point.consumers // WARP)
            if threadIdx.x < point.consumers:
                accumulators = register_tensor(f32, columns // 2)
                weight = Taps(p, b, p.k // LINE * columns, left)
                weight.load(taps, threadIdx.x, point.consumers)
                fence_proxy_async("shared::cta")
                barrier_sync(CONSUMERS_BARRIER, point.consumers)
                multiply_tiles(point, products, pipe, epilogue, accumulators, a, left)
            else:
                for tile in range(blockIdx.x, tiles, gridDim.x):
                    stage = pipe.acquire(0)
                    z, top = tile // each, tile % each * rows
                    found = PlaneLines(p, a, p.planes * length, length, stage, z, top)
                    found.load(lines, threadIdx.x - point.consumers, PRODUCERS)
                    fence_proxy_async("shared::cta")
                    mbarrier_arrive(pipe.barrier(FULL, stage))
                    pipe.advance(1)

    return assemble(name, [product], names_of(p), ["c"])


@part
def multiply_tiles(
    point: OverlapTile, products: WindowProducts, pipe: Pipeline, epilogue: TileEpilogue,
    accumulators: Registers, x: Global, left: Int,
) -> None:  # fmt: skip
    """For warpgroups: multiply and write one tile after the other."""
    (each, tiles, _), parts = point.tiles(products.p), point.block[0] // AT_ONCE
    shift = epilogue.registers()
    epilogue.prefetch(shift, Tile(0, 0, left))
    # From this iteration on, the warp computes its results again at the end.
    stop = cast(NEVER, i32)
    for tile in range(blockIdx.x, tiles, gridDim.x):
        stage = pipe.wait(0)
        for number in range(parts):
            products.multiply(accumulators, stage, number * AT_ONCE)
            if number + 1 == parts:
                pipe.release(stage)
            lost = any_sync(ALL, not (isfinite(accumulators[0]) and isfinite(accumulators[2])))
            stop = select(lost, minimum(stop, pipe.count * parts + number), stop)
            if pipe.count * parts + number < stop:
                top = tile % each * point.block[0] + number * AT_ONCE
                epilogue.write(accumulators, shift, Tile(tile // each, top, left))
        pipe.advance(1)
    recompute(point, products, epilogue, accumulators, shift, x, left, stop, pipe.count * parts)


@part
def recompute(
    point: OverlapTile, products: WindowProducts, epilogue: TileEpilogue, accumulators: Registers,
    shift: Any, x: Global, left: Int, first: Int, end: Int,
) -> None:  # fmt: skip
    """For warpgroups: compute iterations from `first` on again, reading nothing beside windows."""
    each, parts = point.tiles(products.p)[0], point.block[0] // AT_ONCE
    for iteration in range(first, end):
        tile = blockIdx.x + iteration // parts * gridDim.x
        top = tile % each * point.block[0] + iteration % parts * AT_ONCE
        products.multiply_plainly(x, accumulators, tile // each, top)
        epilogue.write(accumulators, shift, Tile(tile // each, top, left))
