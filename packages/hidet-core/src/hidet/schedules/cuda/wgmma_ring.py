"""A ring of stages in shared memory (sm_90a): one thread has tiles brought, warpgroups multiply.

Each stage has a barrier at which its copies arrive, and one at which those that multiply give it
back. A turn is a tile of each operand, 128 bytes along k; turns are counted on from one tile of the
result to the next, so that copies for that one run while the last one is being written. Weights
that a block needs first are brought ahead of its wait for the kernels before
(`passes/overlap_launches.py`).
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type"
# mypy: disable-error-code="comparison-overlap"
from typing import Any

from hidet.lang import ScriptFunction, minimum, script, static
from hidet.lang.cuda import (
    fence_mbarrier_init,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    syncthreads,
    threadIdx,
    tma_prefetch_map,
    wgmma,
    wgmma_commit_group,
    wgmma_fence,
    wgmma_wait_group,
)
from hidet.schedules.cuda.warpgroups import Warpgroups
from hidet.schedules.cuda.wgmma_operand import STEP_BYTES, Operand, step_of
from hidet.target import WARP, WARPGROUP

FULL, EMPTY = 0, 1
"""The two barriers of a stage."""


def beginning(
    point: Warpgroups, a_side: Operand, b_side: Operand, position: ScriptFunction
) -> ScriptFunction:
    """A part of a kernel, for all threads: (barriers, map of a, of b, tiles of a, of b, number of a
    tile of the result, whose `position` is known; first turn, turns). Barriers are made, and
    weights of the first turns are on their way, as many as there is room for."""
    clear_a = a_side.clear(point.stages, point.threads)
    clear_b = b_side.clear(point.stages, point.threads)
    fill = filling(a_side, b_side)

    @script
    def begin(  # type: ignore[no-untyped-def]
        bars, boxes_a, boxes_b, tiles_a, tiles_b, number, first, turns
    ):
        if a_side.brought < a_side.extent:
            clear_a(tiles_a)
        if b_side.brought < b_side.extent:
            clear_b(tiles_b)
        if threadIdx.x == 0:
            tma_prefetch_map(boxes_a)
            tma_prefetch_map(boxes_b)
            for stage in range(point.stages):
                mbarrier_init(~bars[FULL, stage], 1)
                mbarrier_init(~bars[EMPTY, stage], point.consumers // WARP)
            fence_mbarrier_init()
        syncthreads()
        if threadIdx.x == point.consumers:
            z, _, left = position(number)
            for turn in range(turns_ahead(point, b_side, turns)):
                fill(boxes_b, tiles_b, bars, turn, z, left, first + turn)

    return begin


def producing(point: Warpgroups, a_side: Operand, b_side: Operand) -> ScriptFunction:
    """A part of a kernel, for one thread: it has the tiles of all turns brought.

    (map of a, map of b, tiles of a, of b, barriers, z, top, left, first turn, turns so far, turns)
    """
    stages = point.stages
    load_a, fill = a_side.load(), filling(a_side, b_side)

    @script
    def produce(  # type: ignore[no-untyped-def]
        boxes_a, boxes_b, tiles_a, tiles_b, bars, z, top, left, first, count, turns
    ):
        for turn in range(turns):
            stage = (count + turn) % stages
            if count + turn >= turns_ahead(point, b_side, turns):
                mbarrier_wait(~bars[EMPTY, stage], ((count + turn) // stages + 1) % 2)
                fill(boxes_b, tiles_b, bars, stage, z, left, first + turn)
            load_a(boxes_a, tiles_a, stage, ~bars[FULL, stage], z, top, first + turn)

    return produce


def turns_ahead(point: Warpgroups, b_side: Operand, turns: Any) -> Any:
    """In how many of the first turns b is brought ahead."""
    return minimum(point.stages, turns) if b_side.ahead else 0


def filling(a_side: Operand, b_side: Operand) -> ScriptFunction:
    """A part of a kernel, for one thread: (map of b, tiles of b, barriers, stage, z, left, turn). A
    stage expects its tiles, of which that of b is on its way."""
    load = b_side.load()

    @script
    def fill(boxes_b, tiles_b, bars, stage, z, left, turn):  # type: ignore[no-untyped-def]
        full = ~bars[FULL, stage]
        mbarrier_arrive_expect_tx(full, a_side.brought_bytes + b_side.brought_bytes)
        load(boxes_b, tiles_b, stage, full, z, left, turn)

    return fill


def consuming(point: Warpgroups, a_side: Operand, b_side: Operand) -> ScriptFunction:
    """A part of a kernel, for warpgroups: (tiles of a, of b, barriers, sums, turns so far, turns).

    Each multiplies its 64 rows; the products of one turn are under way while the next is awaited.
    """
    stages, columns = point.stages, point.columns
    shape = f"m64n{columns}k{step_of(a_side.of.dtype)}"
    nothing = 0 if a_side.of.dtype.is_integer else 0.0

    @script
    def give_back(bars, stage):  # type: ignore[no-untyped-def]
        if threadIdx.x % WARP == 0:
            mbarrier_arrive(~bars[EMPTY, stage])

    @script
    def consume(tiles_a, tiles_b, bars, sums, count, turns):  # type: ignore[no-untyped-def]
        part = threadIdx.x // WARPGROUP
        for v in static(range(columns // 2)):
            sums[v] = nothing
        wgmma_fence(sums)
        for turn in range(turns):
            stage = (count + turn) % stages
            mbarrier_wait(~bars[FULL, stage], (count + turn) // stages % 2)
            one = a_side.descriptor(tiles_a, stage, part * 64)
            two = b_side.descriptor(tiles_b, stage, 0)
            wgmma_fence()
            for deep in static(range(a_side.row_bytes // STEP_BYTES)):
                here = one.advance(a_side.step_bytes * deep)
                there = two.advance(b_side.step_bytes * deep)
                wgmma(here, there, sums, shape)
            wgmma_commit_group()
            # The products of the turn before are done: its tiles may be filled again.
            wgmma_wait_group(1)
            if turn > 0:
                give_back(bars, (count + turn + stages - 1) % stages)
        wgmma_wait_group(0, sums)
        give_back(bars, (count + turns + stages - 1) % stages)

    return consume
