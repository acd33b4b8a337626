"""The matmuls of attention in float32, by 3xTF32 each: see `two_parts.py`.

The option `tf32` allows one product of tf32 alone. No sum of tensor cores goes beyond a tile, and
the products of large and of small parts have accumulators of their own. Where three products give
no number, the result is computed once more in float32 (`non_finite.py`).
"""

from __future__ import annotations

from math import gcd

from hidet import options
from hidet.lang import Int, Registers, address, f32, grid, part, record, register_tensor, unroll
from hidet.lang.cuda import ldmatrix, threadIdx
from hidet.mapping.fragments import ldmatrix_rows, matrix_rows, mma_b
from hidet.schedules.cuda.attention.products import Products
from hidet.schedules.cuda.tiles.two_parts import add_products, divide, parts_of
from hidet.target import WARP

V_FRAGMENTS = 4
"""Fragments of v that are multiplied one after the other, so that none waits for its own sum."""


def tf32_products() -> int:
    """How many products on tensor cores stand for one of float32."""
    return 1 if options.tf32.get() else 3


@record
class Tf32Products(Products):
    """Products of the two parts of each element; rows of q stay in shared memory."""

    @part
    def qk(self, stage: Int, scores: Registers) -> None:
        (rows, across, _), exact, own = scores.shape, tf32_products() == 3, matrix_rows(32)
        lane, key = threadIdx.x % WARP, self.key
        low = register_tensor(f32, (rows, across, 4), init=0.0)
        for deep in unroll(self.depth // 8):
            part_q, large_q, small_q = parts_of(rows, 4)
            for i in unroll(rows):
                at = (self.row + i * 16 + own.task(lane, 0)[0], deep * 8 + own.task(lane, 0)[1])
                ldmatrix(address(part_q, i, 0), address(self.tile_q, 0, *at))
            divide(part_q, large_q, small_q, exact)
            for j in unroll(across // 2):
                part_k, large_k, small_k = parts_of(2, 2)
                # Matrices follow each other across first: half of a row of 8 elements each.
                matrix, line = ldmatrix_rows().task(lane)
                at = (key + j * 16 + line + matrix // 2 * 8, deep * 8 + matrix % 2 * 4)
                ldmatrix(address(part_k, 0, 0), address(self.tiles_k, stage, *at))
                divide(part_k, large_k, small_k, exact)
                add_products(large_q, small_q, 0, large_k, small_k, scores, low, j * 2, exact)
        for i, j, e in unroll(grid(rows, across, 4)):
            scores[i, j, e] += low[i, j, e]

    @part
    def pv(self, stage: Int, weights: Registers, accumulators: Registers) -> None:
        # A lane holds two neighbours of each eight weights, which stand in the product four apart:
        # there keys are in another order.
        (rows, across, _), keys = accumulators.shape, weights.shape[1]
        columns, exact, pairs = gcd(across, V_FRAGMENTS), tf32_products() == 3, mma_b(16, 8)
        lane, key = threadIdx.x % WARP, self.key
        part_w, large_w, small_w = parts_of(keys * rows, 4)
        for i, j, e in unroll(grid(rows, keys, 4)):
            part_w[j * rows + i, e] = weights[i, j, e % 2 * 2 + e // 2]
        divide(part_w, large_w, small_w, exact)
        for group in unroll(across // columns):
            high = register_tensor(f32, (rows, columns, 4), init=0.0)
            low = register_tensor(f32, (rows, columns, 4), init=0.0)
            for j in unroll(keys):
                part_v, large_v, small_v = parts_of(columns, 2)
                for c, e in unroll(grid(columns, 2)):
                    column = (group * columns + c) * 8 + pairs.task(lane, e)[1]
                    row = key + j * 8 + pairs.task(lane, e)[0]
                    part_v[c, e] = self.tiles_v[stage, row, column]
                divide(part_v, large_v, small_v, exact)
                add_products(large_w, small_w, j * rows, large_v, small_v, high, low, 0, exact)
            for i, c, e in unroll(grid(rows, columns, 4)):
                accumulators[i, group * columns + c, e] += high[i, c, e] + low[i, c, e]
