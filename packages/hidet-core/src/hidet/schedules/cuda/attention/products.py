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
    ScriptFunction,
    Shared,
    address,
    cast,
    part,
    register_tensor,
    script,
    unroll,
    vectorize,
)
from hidet.lang.cuda import ldmatrix, mma_sync, store_async, threadIdx
from hidet.lang.memory import get
from hidet.mapping.fragments import matrices, matrix_rows
from hidet.schedules.contraction import Index
from hidet.target import ACCESS_BYTES, WARP
from hidet.types import DType


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


def keeping(rows: int, size: int) -> ScriptFunction:
    """A part of a kernel: (tile_q, kept, row). The warp's rows of q to fragments."""
    own = matrix_rows()

    @script
    def keep(tile_q, kept, row):  # type: ignore[no-untyped-def]
        lane = threadIdx.x % WARP
        for i in unroll(rows // 16):
            for deep in unroll(size // 16):
                source = address(
                    tile_q, 0, row + i * 16 + own.task(lane, 0)[0], deep * 16 + own.task(lane, 0)[1]
                )
                ldmatrix(address(kept, i, deep, 0), source)

    return keep


def scoring(rows: int, keys: int, size: int, dtype: DType, kept_there: bool) -> ScriptFunction:
    """A part of a kernel: (tile_q, kept, tiles_k, number, scores, row, key).

    Adds the products of the warp's rows of q and keys, which begin at `row` and `key`.
    """
    own, beside = matrix_rows(), matrices(across=True)

    @script
    def score(tile_q, kept, tiles_k, number, scores, row, key):  # type: ignore[no-untyped-def]
        lane = threadIdx.x % WARP
        for deep in unroll(size // 16):
            part_q = register_tensor(dtype, (rows // 16, 8))
            if not kept_there:
                for i in unroll(rows // 16):
                    at = (row + i * 16 + own.task(lane, 0)[0], deep * 16 + own.task(lane, 0)[1])
                    ldmatrix(address(part_q, i, 0), address(tile_q, 0, *at))
            for j in unroll(keys // 16):
                part_k = register_tensor(dtype, (8,))
                at = (key + j * 16 + beside.task(lane, 0)[0], deep * 16 + beside.task(lane, 0)[1])
                ldmatrix(address(part_k, 0), address(tiles_k, number, *at))
                for i in unroll(rows // 16):
                    left = address(kept, i, deep, 0) if kept_there else address(part_q, i, 0)
                    for half in unroll(2):
                        right = address(part_k, half * 4)
                        mma_sync(left, right, address(scores, i, j * 2 + half, 0))

    return score


def weighing(rows: int, keys: int, width: int, dtype: DType) -> ScriptFunction:
    """A part of a kernel: (weights, tiles_v, number, sums, key). Adds weighted rows of v."""
    own = matrix_rows()

    @script
    def weigh(weights, tiles_v, number, sums, key):  # type: ignore[no-untyped-def]
        lane = threadIdx.x % WARP
        for j in unroll(keys // 16):
            part_w = register_tensor(dtype, (rows // 16, 8))
            for i in unroll(rows // 16):
                for e in unroll(8):
                    part_w[i, e] = cast(weights[i, j * 2 + e // 4, e % 4], dtype)
            for c in unroll(width // 16):
                part_v = register_tensor(dtype, (8,))
                at = (key + j * 16 + own.task(lane, 0)[0], c * 16 + own.task(lane, 0)[1])
                ldmatrix(address(part_v, 0), address(tiles_v, number, *at), 4, True)
                for i in unroll(rows // 16):
                    for half in unroll(2):
                        right = address(part_v, half * 4)
                        mma_sync(address(part_w, i, 0), right, address(sums, i, c * 2 + half, 0))

    return weigh
