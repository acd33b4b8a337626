"""The two products of attention in float32, by 3xTF32 each: see `two_parts`.

The option `tf32` allows one alone. No sum of tensor cores goes beyond a tile, and large and small
products have sums of their own. Where three give no number, ordinary ones count
(`plain.py`).
"""

from __future__ import annotations

from math import gcd

from hidet import options
from hidet.lang import Int, Registers, Shared, address, f32, grid, part, register_tensor, unroll
from hidet.lang.cuda import ldmatrix, threadIdx
from hidet.mapping.fragments import ldmatrix_rows, matrix_rows, mma_b
from hidet.schedules.cuda.tiles.two_parts import add_products, divide, parts_of
from hidet.target import ACCESS_BYTES, WARP

TOGETHER = 4
"""Fragments of v that are multiplied in turns."""


def products() -> int:
    """How many products on tensor cores stand for one of float32."""
    return 1 if options.tf32.get() else 3


@part
def score_single(
    tile_q: Shared, kept: Registers, kept_there: bool, tiles_k: Shared, number: Int,
    scores: Registers, row: Int, key: Int,
) -> None:  # fmt: skip
    """Adds the products of the warp's rows of q and keys, which begin at `row` and `key`; no rows
    are kept."""
    rows, beside, exact, own = scores.shape[0], scores.shape[1], products() == 3, matrix_rows(32)
    lane = threadIdx.x % WARP
    low = register_tensor(f32, (rows, beside, 4), init=0.0)
    for deep in unroll((tiles_k.shape[2] - ACCESS_BYTES // f32.nbytes) // 8):
        part_q, large_q, small_q = parts_of(rows, 4)
        for i in unroll(rows):
            at = (row + i * 16 + own.task(lane, 0)[0], deep * 8 + own.task(lane, 0)[1])
            ldmatrix(address(part_q, i, 0), address(tile_q, 0, *at))
        divide(part_q, large_q, small_q, exact)
        for j in unroll(beside // 2):
            part_k, large_k, small_k = parts_of(2, 2)
            # Matrices follow each other across first: half of a row of 8 elements each.
            matrix, line = ldmatrix_rows().task(lane)
            at = (key + j * 16 + line + matrix // 2 * 8, deep * 8 + matrix % 2 * 4)
            ldmatrix(address(part_k, 0, 0), address(tiles_k, number, *at))
            divide(part_k, large_k, small_k, exact)
            add_products(large_q, small_q, 0, large_k, small_k, scores, low, j * 2, exact)
    for i, j, e in unroll(grid(rows, beside, 4)):
        scores[i, j, e] += low[i, j, e]


@part
def weigh_single(
    weights: Registers, tiles_v: Shared, number: Int, sums: Registers, key: Int
) -> None:
    """Adds weighted rows of v.

    A lane holds two neighbours of each eight weights, which stand in the product four apart: there
    keys are in another order.
    """
    rows, across, beside = sums.shape[0], sums.shape[1], weights.shape[1]
    columns, exact, pairs = gcd(across, TOGETHER), products() == 3, mma_b(16, 8)
    lane = threadIdx.x % WARP
    part_w, large_w, small_w = parts_of(beside * rows, 4)
    for i, j, e in unroll(grid(rows, beside, 4)):
        part_w[j * rows + i, e] = weights[i, j, e % 2 * 2 + e // 2]
    divide(part_w, large_w, small_w, exact)
    for group in unroll(across // columns):
        high = register_tensor(f32, (rows, columns, 4), init=0.0)
        low = register_tensor(f32, (rows, columns, 4), init=0.0)
        for j in unroll(beside):
            part_v, large_v, small_v = parts_of(columns, 2)
            for c, e in unroll(grid(columns, 2)):
                left = (group * columns + c) * 8 + pairs.task(lane, e)[1]
                part_v[c, e] = tiles_v[number, key + j * 8 + pairs.task(lane, e)[0], left]
            divide(part_v, large_v, small_v, exact)
            add_products(large_w, small_w, j * rows, large_v, small_v, high, low, 0, exact)
        for i, c, e in unroll(grid(rows, columns, 4)):
            sums[i, group * columns + c, e] += high[i, c, e] + low[i, c, e]
