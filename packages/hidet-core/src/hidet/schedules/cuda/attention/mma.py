"""The matmuls of attention in half precision, by `mma.sync` m16n8k16."""

from __future__ import annotations

from typing import Any

from hidet.lang import (
    Int,
    Registers,
    address,
    cast,
    part,
    record,
    register_tensor,
    unroll,
)
from hidet.lang.cuda import ldmatrix, mma_sync, threadIdx
from hidet.mapping.fragments import matrices, matrix_rows
from hidet.schedules.cuda.attention.products import Products
from hidet.target import WARP


@record
class MmaProducts(Products):
    """Products of fragments that `ldmatrix` loads."""

    @part
    def load_q(self) -> None:
        lane = threadIdx.x % WARP
        for i in unroll(self.q_fragments.shape[0]):
            for deep in unroll(self.q_fragments.shape[1]):
                source = address(self.tile_q, *self.q_at(lane, i, deep))
                ldmatrix(address(self.q_fragments, i, deep, 0), source)

    def q_at(self, lane: Int, i: Int, deep: Int) -> Any:
        """Where a lane finds its 16 bytes of a fragment of the warp's rows of q."""
        row, column = matrix_rows().task(lane, 0)
        return 0, self.row + i * 16 + row, deep * 16 + column

    @part
    def qk(self, stage: Int, scores: Registers) -> None:
        own, dtype = matrices(across=True), self.tile_q.dtype
        lane, key, rows = threadIdx.x % WARP, self.key, scores.shape[0]
        for deep in unroll(self.depth // 16):
            part_q = register_tensor(dtype, (rows, 8))
            if self.q_fragments is None:
                for i in unroll(rows):
                    at = self.q_at(lane, i, deep)
                    ldmatrix(address(part_q, i, 0), address(self.tile_q, *at))
            for j in unroll(scores.shape[1] // 2):
                part_k = register_tensor(dtype, (8,))
                at = (key + j * 16 + own.task(lane, 0)[0], deep * 16 + own.task(lane, 0)[1])
                ldmatrix(address(part_k, 0), address(self.tiles_k, stage, *at))
                for i in unroll(rows):
                    held = self.q_fragments is not None
                    left = address(self.q_fragments, i, deep, 0) if held else address(part_q, i, 0)
                    for half in unroll(2):
                        right = address(part_k, half * 4)
                        mma_sync(left, right, address(scores, i, j * 2 + half, 0))

    @part
    def pv(self, stage: Int, weights: Registers, accumulators: Registers) -> None:
        own, dtype = matrix_rows(), self.tiles_v.dtype
        lane, key, sums = threadIdx.x % WARP, self.key, accumulators
        rows = sums.shape[0]
        for j in unroll(weights.shape[1] // 2):
            part_w = register_tensor(dtype, (rows, 8))
            for i in unroll(rows):
                for e in unroll(8):
                    part_w[i, e] = cast(weights[i, j * 2 + e // 4, e % 4], dtype)
            for c in unroll(sums.shape[1] // 2):
                part_v = register_tensor(dtype, (8,))
                at = (key + j * 16 + own.task(lane, 0)[0], c * 16 + own.task(lane, 0)[1])
                ldmatrix(address(part_v, 0), address(self.tiles_v, stage, *at), 4, True)
                for i in unroll(rows):
                    for half in unroll(2):
                        right = address(part_v, half * 4)
                        mma_sync(address(part_w, i, 0), right, address(sums, i, c * 2 + half, 0))
