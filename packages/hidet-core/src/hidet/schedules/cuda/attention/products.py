"""The two matmuls of attention by `mma.sync` m16n8k16, and the loads of their tiles.

Fragments are as the PTX ISA lays them out: of a 16 x 8 result, a lane holds two neighbours in row
lane / 4 and two in the row eight below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hidet.ir.expr import Value
from hidet.lang import (
    Global,
    Int,
    Registers,
    Shared,
    address,
    cast,
    part,
    register_tensor,
    unroll,
    vectorize,
)
from hidet.lang.cuda import ldmatrix, mma_sync, store_async, threadIdx
from hidet.lang.memory import get
from hidet.mapping.fragments import matrices, matrix_rows
from hidet.schedules.contraction import Index
from hidet.target import ACCESS_BYTES, WARP


@part
def bring_rows(
    operand: Global, at: Callable[[Value, Value, Value], Index], tiles: Shared, number: Int,
    z: Any, first: Int, threads: int,
) -> None:  # fmt: skip
    """Rows of an operand from `first` on are on their way to a tile."""
    vector = ACCESS_BYTES // tiles.dtype.nbytes
    across = (tiles.shape[2] - vector) // vector
    pieces = tiles.shape[1] * across
    for step in unroll(-(-pieces // threads)):
        piece = step * threads + threadIdx.x
        if True if pieces % threads == 0 else piece < pieces:
            row, column = piece // across, piece % across * vector
            for v in vectorize(vector):
                # In one expression: a value with a name is loaded first.
                store_async(
                    address(tiles, number, row, column + v),
                    get(operand, *at(z, first + row, column + v)),
                )


@part
def keep_rows(tile_q: Shared, kept: Registers, row: Int) -> None:
    """The warp's rows of q to fragments."""
    own, lane = matrix_rows(), threadIdx.x % WARP
    for i in unroll(kept.shape[0]):
        for deep in unroll(kept.shape[1]):
            source = address(
                tile_q, 0, row + i * 16 + own.task(lane, 0)[0], deep * 16 + own.task(lane, 0)[1]
            )
            ldmatrix(address(kept, i, deep, 0), source)


@part
def score_half(
    tile_q: Shared, kept: Registers, kept_there: bool, tiles_k: Shared, number: Int,
    scores: Registers, row: Int, key: Int,
) -> None:  # fmt: skip
    """Adds the products of the warp's rows of q and keys, which begin at `row` and `key`."""
    own, beside, dtype = matrix_rows(), matrices(across=True), tile_q.dtype
    lane, rows = threadIdx.x % WARP, scores.shape[0]
    for deep in unroll((tiles_k.shape[2] - ACCESS_BYTES // dtype.nbytes) // 16):
        part_q = register_tensor(dtype, (rows, 8))
        if not kept_there:
            for i in unroll(rows):
                at = (row + i * 16 + own.task(lane, 0)[0], deep * 16 + own.task(lane, 0)[1])
                ldmatrix(address(part_q, i, 0), address(tile_q, 0, *at))
        for j in unroll(scores.shape[1] // 2):
            part_k = register_tensor(dtype, (8,))
            at = (key + j * 16 + beside.task(lane, 0)[0], deep * 16 + beside.task(lane, 0)[1])
            ldmatrix(address(part_k, 0), address(tiles_k, number, *at))
            for i in unroll(rows):
                left = address(kept, i, deep, 0) if kept_there else address(part_q, i, 0)
                for half in unroll(2):
                    right = address(part_k, half * 4)
                    mma_sync(left, right, address(scores, i, j * 2 + half, 0))


@part
def weigh_half(weights: Registers, tiles_v: Shared, number: Int, sums: Registers, key: Int) -> None:
    """Adds weighted rows of v."""
    own, dtype = matrix_rows(), tiles_v.dtype
    lane, rows = threadIdx.x % WARP, sums.shape[0]
    for j in unroll(weights.shape[1] // 2):
        part_w = register_tensor(dtype, (rows, 8))
        for i in unroll(rows):
            for e in unroll(8):
                part_w[i, e] = cast(weights[i, j * 2 + e // 4, e % 4], dtype)
        for c in unroll(sums.shape[1] // 2):
            part_v = register_tensor(dtype, (8,))
            at = (key + j * 16 + own.task(lane, 0)[0], c * 16 + own.task(lane, 0)[1])
            ldmatrix(address(part_v, 0), address(tiles_v, number, *at), 4, True)
            for i in unroll(rows):
                for half in unroll(2):
                    right = address(part_v, half * 4)
                    mma_sync(address(part_w, i, 0), right, address(sums, i, c * 2 + half, 0))
