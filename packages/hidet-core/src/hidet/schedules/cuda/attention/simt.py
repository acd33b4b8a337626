"""Attention in float32 on CUDA cores, where three products of tf32 take longer than one of theirs.

A lane has the rows and keys of the fragments of `mma.sync` (`mma_c`), so that softmax, masks and
writes are those of the tensor cores. Products are exact in float32, and infinities count as they
are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hidet import options
from hidet.lang import Int, Registers, Shared, f32, grid, part, register_tensor, unroll, vectorize
from hidet.lang.cuda import shfl_sync, threadIdx
from hidet.mapping.fragments import mma_c
from hidet.ops.products.attention import Attention
from hidet.schedules.attention import Rows, is_sized, rows_of
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cuda.attention.schedule import tiled
from hidet.schedules.cuda.attention.softmax import ALL
from hidet.schedules.cuda.attention.space import Blocks, pays
from hidet.schedules.cuda.tiles.mma_single import pays as three_pay
from hidet.schedules.space import choice
from hidet.target import ACCESS_BYTES, WARP, Target

VECTOR = ACCESS_BYTES // f32.nbytes
REACHED = 0.8
"""The part of a large matmul's rate that both products reach; an estimate."""
ACCESS_CYCLES = 2
"""Cycles that a multiprocessor takes for a warp's access of 16 bytes to few rows; an estimate."""
LANE_ROUNDS = 1 / 27000
"""The part of a wait for memory that a warp takes to multiply a row and a key by one element."""


@dataclass(frozen=True)
class Lanes(Blocks):
    """A block's rows, the keys of a tile, how warps divide both, tiles in memory, key sharing."""

    rows: int = choice(128, 64, 32, 16)
    keys: int = choice(32, 64, 16, 128)
    warps: tuple[int, int] = choice((4, 1), (2, 2), (1, 4), (2, 1), (1, 2), (8, 1), (2, 4))
    stages: int = choice(2, 1, 3)

    def keeps_q(self, rows: Rows) -> bool:
        """Rows of q stay in shared memory: registers are for sums and scores."""
        return False

    def in_parts(self, rows: Rows) -> bool:
        """Products are of whole numbers."""
        return False

    def unit(self, rows: Rows) -> tuple[str, bool, int]:
        """One product of float32, and no tensor cores."""
        return f32.name, False, 1

    def multiplying(self, rows: Rows) -> tuple[Any, Any]:
        """Parts of kernels that add up scores, and weighted rows of v."""
        return score_lanes, weigh_lanes

    def registers(self, rows: Rows) -> int:
        """Sums, scores, what is multiplied, and indices."""
        (_, width), (height, keys) = self.padded(rows), self.part
        return height * (width + keys + WARP) // WARP + 56

    def least_registers(self, rows: Rows) -> int:
        """As many: all loops over keys and columns but the innermost are the compiler's."""
        return self.registers(rows)

    def step(self, rows: Rows) -> float:
        """Waits for memory that a warp's way through a tile takes."""
        (size, width), (height, keys) = self.padded(rows), self.part
        return 0.5 + height * keys * (size + width) * LANE_ROUNDS

    def busy(self, rows: Rows, blocks: int, target: Target) -> float:
        """The part of the rate that is reached: small parts of warps wait for shared memory."""
        (size, width), (height, keys) = self.padded(rows), self.part
        high, beside, across = height // 8, keys // 4, width // 4
        multiplied = high * (beside * size + across * keys) // 4
        fetched = ACCESS_CYCLES * (high + beside) * size // VECTOR + (high + across) * keys
        return REACHED * min(1.0, multiplied / fetched) / (1 + 4 / self.rows)


@part
def score_lanes(
    tile_q: Shared, kept: Registers, kept_there: bool, tiles_k: Shared, number: Int,
    scores: Registers, row: Int, key: Int,
) -> None:  # fmt: skip
    """Adds the products of the warp's rows of q and keys, which begin at `row` and `key`; no rows
    are kept."""
    high, beside, (down, right) = scores.shape[0] * 2, scores.shape[1], own_place()
    for deep in range((tiles_k.shape[2] - VECTOR) // VECTOR):
        part_q = register_tensor(f32, (high, VECTOR))
        for i in unroll(high):
            for v in vectorize(VECTOR):
                part_q[i, v] = tile_q[0, row + i * 8 + down, deep * VECTOR + v]
        for j, c in unroll(grid(beside, 2)):
            part_k = register_tensor(f32, (VECTOR,))
            for v in vectorize(VECTOR):
                part_k[v] = tiles_k[number, key + j * 8 + right + c, deep * VECTOR + v]
            for i, v in unroll(grid(high, VECTOR)):
                scores[i // 2, j, i % 2 * 2 + c] += part_q[i, v] * part_k[v]


@part
def weigh_lanes(
    weights: Registers, tiles_v: Shared, number: Int, sums: Registers, key: Int
) -> None:
    """Adds weighted rows of v. The four lanes that share a row tell each other their weights."""
    high, across, (_, right) = sums.shape[0] * 2, sums.shape[1], own_place()
    first = threadIdx.x % WARP // 4 * 4
    for owner in range(4):
        for j, e in unroll(grid(weights.shape[1], 2)):
            part_w = register_tensor(f32, (high,))
            for i in unroll(high):
                part_w[i] = shfl_sync(ALL, weights[i // 2, j, i % 2 * 2 + e], first + owner)
            for c in unroll(across):
                part_v = register_tensor(f32, (2,))
                for v in vectorize(2):
                    part_v[v] = tiles_v[number, key + j * 8 + owner * 2 + e, c * 8 + right + v]
                for i, v in unroll(grid(high, 2)):
                    sums[i // 2, c, i % 2 * 2 + v] += part_w[i] * part_v[v]


@part
def own_place() -> tuple[Int, Int]:
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
