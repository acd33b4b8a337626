"""The two products of attention in float32, by 3xTF32 each: see `two_parts`.

The option `tf32` allows one alone. No sum of tensor cores goes beyond a tile, and large and small
products have sums of their own. Where three give no number, ordinary ones count
(`plain.py`).
"""

from __future__ import annotations

from math import gcd

from hidet import options
from hidet.lang import ScriptFunction, address, f32, grid, register_tensor, script, unroll
from hidet.lang.cuda import ldmatrix, threadIdx
from hidet.mapping.fragments import ldmatrix_rows, matrix_rows, mma_b
from hidet.schedules.cuda.tiles.two_parts import add_products, divide, parts_of
from hidet.target import WARP

TOGETHER = 4
"""Fragments of v that are multiplied in turns."""


def products() -> int:
    """How many products on tensor cores stand for one of float32."""
    return 1 if options.tf32.get() else 3


def scoring_single(height: int, keys: int, size: int) -> ScriptFunction:
    """A part of a kernel: (tile_q, kept, tiles_k, number, scores, row, key).

    Adds the products of the warp's rows of q and keys, which begin at `row` and `key`.
    """
    rows, exact, own = height // 16, products() == 3, matrix_rows(32)

    @script
    def score(tile_q, kept, tiles_k, number, scores, row, key):  # type: ignore[no-untyped-def]
        lane = threadIdx.x % WARP
        low = register_tensor(f32, (rows, keys // 8, 4), init=0.0)
        for deep in unroll(size // 8):
            part_q, large_q, small_q = parts_of(rows, 4)
            for i in unroll(rows):
                at = (row + i * 16 + own.task(lane, 0)[0], deep * 8 + own.task(lane, 0)[1])
                ldmatrix(address(part_q, i, 0), address(tile_q, 0, *at))
            divide(part_q, large_q, small_q, exact)
            for j in unroll(keys // 16):
                part_k, large_k, small_k = parts_of(2, 2)
                # Matrices follow each other across first: half of a row of 8 elements each.
                matrix, line = ldmatrix_rows().task(lane)
                at = (key + j * 16 + line + matrix // 2 * 8, deep * 8 + matrix % 2 * 4)
                ldmatrix(address(part_k, 0, 0), address(tiles_k, number, *at))
                divide(part_k, large_k, small_k, exact)
                add_products(large_q, small_q, 0, large_k, small_k, scores, low, j * 2, exact)
        for i, j, e in unroll(grid(rows, keys // 8, 4)):
            scores[i, j, e] += low[i, j, e]

    return score


def weighing_single(height: int, keys: int, width: int) -> ScriptFunction:
    """A part of a kernel: (weights, tiles_v, number, sums, key). Adds weighted rows of v.

    A lane holds two neighbours of each eight weights, which stand in the product four apart: there
    keys are in another order.
    """
    rows, columns, exact = height // 16, gcd(width // 8, TOGETHER), products() == 3
    pairs = mma_b(16, 8)

    @script
    def weigh(weights, tiles_v, number, sums, key):  # type: ignore[no-untyped-def]
        lane = threadIdx.x % WARP
        part_w, large_w, small_w = parts_of(keys // 8 * rows, 4)
        for i, j, e in unroll(grid(rows, keys // 8, 4)):
            part_w[j * rows + i, e] = weights[i, j, e % 2 * 2 + e // 2]
        divide(part_w, large_w, small_w, exact)
        for group in unroll(width // 8 // columns):
            high = register_tensor(f32, (rows, columns, 4), init=0.0)
            low = register_tensor(f32, (rows, columns, 4), init=0.0)
            for j in unroll(keys // 8):
                part_v, large_v, small_v = parts_of(columns, 2)
                for c, e in unroll(grid(columns, 2)):
                    left = (group * columns + c) * 8 + pairs.task(lane, e)[1]
                    part_v[c, e] = tiles_v[number, key + j * 8 + pairs.task(lane, e)[0], left]
                divide(part_v, large_v, small_v, exact)
                add_products(large_w, small_w, j * rows, large_v, small_v, high, low, 0, exact)
            for i, c, e in unroll(grid(rows, columns, 4)):
                sums[i, group * columns + c, e] += high[i, c, e] + low[i, c, e]

    return weigh
