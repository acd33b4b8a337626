"""Attention in float32 on CUDA cores, where 3xTF32 takes longer than one product of float32.

A lane has the rows and keys of the fragments of `mma.sync` (`mma_c`), so that softmax, masks and
epilogue are those of the tensor cores. Products are exact in float32: infinities count as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from hidet import options
from hidet.lang import Int, Registers, f32, grid, part, record, register_tensor, unroll, vectorize
from hidet.lang.cuda import shfl_sync, threadIdx
from hidet.mapping.fragments import mma_c
from hidet.ops.products.attention import Attention
from hidet.schedules.attention import Rows, is_sized, rows_of
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cuda.attention.blocks import Blocks, pays
from hidet.schedules.cuda.attention.products import Products
from hidet.schedules.cuda.attention.schedule import tiled
from hidet.schedules.cuda.attention.softmax import ALL
from hidet.schedules.cuda.tiles.mma_single import pays as three_pay
from hidet.schedules.space import choice
from hidet.target import ACCESS_BYTES, WARP, Target

VECTOR = ACCESS_BYTES // f32.nbytes
REACHED = 0.8
"""The part of a large matmul's rate that both products reach; an estimate."""
ACCESS_CYCLES = 2
"""Cycles that a multiprocessor takes for a warp's access of 16 bytes to few rows; an estimate."""
LANE_ROUNDS = 1 / 27000
"""The part of a memory latency in which a warp multiplies one element of a row and a key."""


@dataclass(frozen=True)
class Lanes(Blocks):
    """As `Blocks`: rows and keys of a block, warps along both, pipeline stages, split-K."""

    rows: int = choice(128, 64, 32, 16)
    keys: int = choice(32, 64, 16, 128)
    warps: tuple[int, int] = choice((4, 1), (2, 2), (1, 4), (2, 1), (1, 2), (8, 1), (2, 4))
    stages: int = choice(2, 1, 3)

    def q_in_registers(self, rows: Rows) -> bool:
        """Rows of q stay in shared memory: registers hold accumulators and scores."""
        return False

    def emulated(self, rows: Rows) -> bool:
        """Products are of float32 itself."""
        return False

    def unit(self, rows: Rows) -> tuple[str, bool, int]:
        """One product of float32, and no tensor cores."""
        return f32.name, False, 1

    def products(self, rows: Rows) -> type[Products]:
        """The record of the two matmuls."""
        return SimtProducts

    def registers(self, rows: Rows) -> int:
        """Accumulators, scores, operands and indices."""
        (_, width), (height, keys) = self.padded(rows), self.part
        return height * (width + keys + WARP) // WARP + 56

    def least_registers(self, rows: Rows) -> int:
        """As many: the compiler unrolls no loop over keys and columns but the innermost."""
        return self.registers(rows)

    def step(self, rows: Rows) -> float:
        """Memory latencies that a warp takes for a tile of keys."""
        (size, width), (height, keys) = self.padded(rows), self.part
        return 0.5 + height * keys * (size + width) * LANE_ROUNDS

    def busy(self, rows: Rows, blocks: int, target: Target) -> float:
        """The part of the rate that is reached: warps with small tiles wait for shared memory."""
        (size, width), (height, keys) = self.padded(rows), self.part
        high, beside, across = height // 8, keys // 4, width // 4
        multiplied = high * (beside * size + across * keys) // 4
        fetched = ACCESS_CYCLES * (high + beside) * size // VECTOR + (high + across) * keys
        return REACHED * min(1.0, multiplied / fetched) / (1 + 4 / self.rows)


@record
class SimtProducts(Products):
    """Products of single elements; rows of q stay in shared memory."""

    @part
    def qk(self, stage: Int, scores: Registers) -> None:
        (down, across, _), (row, column), first = scores.shape, fragment_position(), self.key
        for deep in range(self.depth // VECTOR):
            part_q = register_tensor(f32, (down * 2, VECTOR))
            for i in unroll(down * 2):
                for v in vectorize(VECTOR):
                    part_q[i, v] = self.tile_q[0, self.row + i * 8 + row, deep * VECTOR + v]
            for j, c in unroll(grid(across, 2)):
                part_k = register_tensor(f32, (VECTOR,))
                for v in vectorize(VECTOR):
                    key = first + j * 8 + column + c
                    part_k[v] = self.tiles_k[stage, key, deep * VECTOR + v]
                for i, v in unroll(grid(down * 2, VECTOR)):
                    scores[i // 2, j, i % 2 * 2 + c] += part_q[i, v] * part_k[v]

    @part
    def pv(self, stage: Int, weights: Registers, accumulators: Registers) -> None:
        # The four lanes that share a row pass each other their weights.
        (down, across, _), (_, column) = accumulators.shape, fragment_position()
        lane, first = threadIdx.x % WARP // 4 * 4, self.key
        for owner in range(4):
            for j, e in unroll(grid(weights.shape[1], 2)):
                part_w = register_tensor(f32, (down * 2,))
                for i in unroll(down * 2):
                    part_w[i] = shfl_sync(ALL, weights[i // 2, j, i % 2 * 2 + e], lane + owner)
                for c in unroll(across):
                    part_v = register_tensor(f32, (2,))
                    for v in vectorize(2):
                        key = first + j * 8 + owner * 2 + e
                        part_v[v] = self.tiles_v[stage, key, c * 8 + column + v]
                    for i, v in unroll(grid(down * 2, 2)):
                        accumulators[i // 2, c, i % 2 * 2 + v] += part_w[i] * part_v[v]


@part
def fragment_position() -> tuple[Int, Int]:
    """The row and the column of a lane's first element of a fragment."""
    return mma_c().task(threadIdx.x % WARP, 0)


def by_lanes(op: Attention, target: Target) -> bool:
    """Whether q is float32, tensor cores are slow at it or not to be used, and heads have a known
    size."""
    if op.q.dtype is not f32 or not (is_sized(op) and target.has_feature("cp_async")):
        return False
    slow = options.mma.get() != "mma" or not three_pay(target)
    return slow and pays(rows_of(op), target, f32.name, REACHED)


@schedule_for(Attention, target="cuda", space=Lanes, when=by_lanes)
def attention_simt(op: Attention, target: Target, point: Lanes) -> Scheduled:
    """Tiles of q and of k and v, by threads on CUDA cores."""
    return tiled(op, target, point)
