"""Tiles of keys for attention by warpgroups (sm_90a): one thread has them brought, in a ring.

Tiles of k and of v have barriers of their own: k is needed first, and free again first.
"""

from __future__ import annotations

from typing import Any

from hidet.lang import ScriptFunction, address, script, static
from hidet.lang.cuda import (
    fence_mbarrier_init,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    syncthreads,
    tensor_map,
    threadIdx,
    tma_load,
    tma_prefetch_map,
)
from hidet.schedules.attention import Rows
from hidet.schedules.cuda.attention_groups import PANEL, Groups
from hidet.schedules.cuda.wgmma_operand import has_even_rows
from hidet.target import WARP
from hidet.types import TensorType

K, V = 0, 1
FULL, EMPTY = 0, 1
"""The two barriers of a tile."""


def boxes_of(operand: Any, point: Groups) -> Any:
    """The tensor map of k or v, inside of a kernel: rows of a tile, one panel at a time."""
    outer = (1,) * (operand.type.ndim - 2)
    return tensor_map(operand, (*outer, point.keys, PANEL), swizzle="128B", promotion="256B")


def mappable(of: TensorType) -> bool:
    """Whether a tensor map can describe k or v: few axes, and rows of whole pieces of 16 bytes."""
    return has_even_rows(of, of.shape[-1]) and of.ndim <= 5


def beginning(point: Groups) -> ScriptFunction:
    """A part of a kernel: (barriers, map of k, map of v). Barriers are made."""

    @script
    def begin(bars, boxes_k, boxes_v):  # type: ignore[no-untyped-def]
        if threadIdx.x == 0:
            tma_prefetch_map(boxes_k)
            tma_prefetch_map(boxes_v)
            for operand in static((K, V)):
                for stage in range(point.stages):
                    mbarrier_init(~bars[operand, FULL, stage], 1)
                    mbarrier_init(~bars[operand, EMPTY, stage], point.consumers // WARP)
            fence_mbarrier_init()
        syncthreads()

    return begin


def producing(rows: Rows, point: Groups) -> ScriptFunction:
    """A part of a kernel, for one thread: (maps, tiles, barriers, z, turns).

    It has `turns` tiles of stack `z` brought; maps and tiles are pairs, of k and of v.
    """
    stages, keys, sizes = point.stages, point.keys, point.padded(rows)
    nbytes = [keys * size * rows.op.q.dtype.nbytes for size in sizes]

    @script
    def produce(maps, tiles, bars, z, turns):  # type: ignore[no-untyped-def]
        for turn in range(turns):
            stage = turn % stages
            for own in static((K, V)):
                full = ~bars[own, FULL, stage]
                mbarrier_wait(~bars[own, EMPTY, stage], (turn // stages + 1) % 2)
                mbarrier_arrive_expect_tx(full, nbytes[own])
                for column in static(range(0, sizes[own], PANEL)):
                    at = rows.key_at(z, turn * keys, column)
                    tma_load(address(tiles[own], stage, 0, column), maps[own], at, full)

    return produce


def awaiting(point: Groups) -> tuple[ScriptFunction, ScriptFunction]:
    """Parts of a kernel, for warpgroups: (barriers, operand, turn). A tile is there; it is free."""
    stages = point.stages

    @script
    def wait(bars, operand, turn):  # type: ignore[no-untyped-def]
        mbarrier_wait(~bars[operand, FULL, turn % stages], turn // stages % 2)

    @script
    def give_back(bars, operand, turn):  # type: ignore[no-untyped-def]
        if threadIdx.x % WARP == 0:
            mbarrier_arrive(~bars[operand, EMPTY, turn % stages])

    return wait, give_back
