"""Tiles on tensor cores whose operands come by asynchronous copies, several k-iterations ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hidet.lang import Int, Registers, part, record
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.tiles.copy_pipeline import CopyPipeline
from hidet.schedules.cuda.tiles.mma import VECTOR, Warps, by_tensor_cores
from hidet.schedules.cuda.tiles.staging import Side, Source
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
        rows, columns = self.warp_tile
        copies = sum(self.block) * self.depth // VECTOR // self.threads
        return rows * columns // WARP + (rows + columns) * 16 // WARP // 2 + 2 * copies + 40

    @part
    def gather(self, a: Source, b: Source, sums: Registers, first: Int, turns: Any) -> None:
        """The main loop, with asynchronous copies."""
        pipe = CopyPipeline(self.stages, Copies(a, b, first))
        pipe.begin(turns)
        for turn in range(turns):
            following = turn + pipe.ahead
            pipe.step(following, turns)
            self.multiply(a, b, sums, turn % self.stages)


@record
class Copies:
    """The tiles of both operands from element `first` of k on."""

    a: Source
    b: Source
    first: Any

    @part
    def begin(self) -> None:
        """Nothing comes with the first tiles."""

    @part
    def load(self, stage: Int, turn: Int) -> None:
        """The copies of a pair of tiles are under way."""
        depth = self.a.side.depth
        self.a.side.copy(self.a, stage, self.first + turn * depth)
        self.b.side.copy(self.b, stage, self.first + turn * depth)


def is_copyable(p: Contraction) -> bool:
    """Whether copies of at least four bytes find elements of one row, all there or none."""
    return min(p.a_together * p.a.dtype.nbytes, p.b_together * p.b.dtype.nbytes) >= min(ACCESSES)


def in_stages(p: Contraction, target: Target) -> bool:
    """Whether tensor cores may multiply these, and asynchronous copies can bring them."""
    return by_tensor_cores(p, target) and target.has_feature("cp_async") and is_copyable(p)
