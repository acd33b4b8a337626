"""Tiles on tensor cores whose operands come by asynchronous copies, several turns ahead.

While a pair of tiles is multiplied, the copies of the next ones are under way: a turn of the main
loop waits for copies that began `stages` - 1 turns before it, and one barrier is enough for it, as
the buffer that is filled next was read a turn ago. PTX ISA: cp.async.
"""

from __future__ import annotations

from dataclasses import dataclass

from hidet.lang import ScriptFunction, script, shared_tensor, static
from hidet.lang.cuda import cp_async_commit_group, cp_async_wait_group, syncthreads
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.mma import VECTOR, Warps, by_tensor_cores
from hidet.schedules.cuda.staging import Side
from hidet.schedules.space import choice
from hidet.target import WARP, Target

ACCESSES = (4, 8, 16)
"""Bytes that one asynchronous copy can have."""


@dataclass(frozen=True)
class Stages(Warps):
    """A block's tile, its depth, how warps divide it, how many blocks share k, tiles at once."""

    block: tuple[int, int] = choice(
        (64, 64), (128, 128), (128, 64), (64, 128), (32, 64), (64, 32), (32, 32), (16, 64),
        (128, 256), (256, 128),
    )  # fmt: skip
    depth: int = choice(64, 32)
    warps: tuple[int, int] = choice((2, 2), (2, 4), (1, 4), (1, 2), (4, 2))
    slices: int = choice(1, 2, 3, 4, 6, 8)
    stages: int = choice(4, 3)

    @property
    def ahead(self) -> int:  # type: ignore[override]
        """Turns that copies begin before they are needed."""
        return self.stages - 1

    @property
    def buffers(self) -> int:  # type: ignore[override]
        """One pair of tiles for each stage."""
        return self.stages

    def sides(self, p: Contraction) -> tuple[Side, Side]:
        """Tiles as their operands lie, in pieces as wide as all of their elements are there."""
        a, b = (
            Side(p, left, extent, self.depth, self.threads, min(VECTOR, whole), of.dtype, VECTOR)
            for left, extent, of, whole in (
                (True, self.block[0], p.a, p.a_together),
                (False, self.block[1], p.b, p.b_together),
            )
        )
        return a, b

    def registers(self, p: Contraction) -> int:
        """Sums, fragments, and where each copy comes from."""
        rows, columns = self.part
        copies = sum(self.block) * self.depth // VECTOR // self.threads
        return rows * columns // WARP + (rows + columns) * 16 // WARP // 2 + 2 * copies + 40

    def gathering(self, p: Contraction) -> ScriptFunction:
        """The main loop, with asynchronous copies."""
        return in_turns(p, self)


def is_copyable(p: Contraction) -> bool:
    """Whether copies of at least four bytes find elements of one row, all there or none."""
    return min(p.a_together * p.a.dtype.nbytes, p.b_together * p.b.dtype.nbytes) >= min(ACCESSES)


def in_stages(p: Contraction, target: Target) -> bool:
    """Whether tensor cores may multiply these, and asynchronous copies can bring them."""
    return by_tensor_cores(p, target) and target.has_feature("cp_async") and is_copyable(p)


def in_turns(p: Contraction, point: Stages) -> ScriptFunction:
    """A part of a kernel: (a, b, sums, z, top, left, first, turns)."""
    side_a, side_b = point.sides(p)
    copy_a, copy_b = side_a.copy(), side_b.copy()
    multiply, depth, stages = point.multiplication(p), point.depth, point.stages

    @script
    def gather(a, b, sums, z, top, left, first, turns):  # type: ignore[no-untyped-def]
        tiles_a = shared_tensor(side_a.dtype, (stages, *side_a.padded))
        tiles_b = shared_tensor(side_b.dtype, (stages, *side_b.padded))
        for stage in static(range(stages - 1)):
            if stage < turns:
                copy_a(a, tiles_a, stage, z, top, first + stage * depth)
                copy_b(b, tiles_b, stage, z, left, first + stage * depth)
            cp_async_commit_group()
        for turn in range(turns):
            cp_async_wait_group(stages - 2)
            syncthreads()
            following = turn + stages - 1
            if following < turns:
                copy_a(a, tiles_a, following % stages, z, top, first + following * depth)
                copy_b(b, tiles_b, following % stages, z, left, first + following * depth)
            cp_async_commit_group()
            multiply(tiles_a, tiles_b, sums, turn % stages)

    return gather
