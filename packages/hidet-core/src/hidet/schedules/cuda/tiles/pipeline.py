"""Tiles on tensor cores whose operands come by asynchronous copies, several k-iterations ahead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hidet.lang import Registers, minimum, part, static
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.tiles.copy_pipeline import CopyPipeline
from hidet.schedules.cuda.tiles.main_loop import Operands
from hidet.schedules.cuda.tiles.mma import VECTOR, Warps, by_tensor_cores
from hidet.schedules.space import choice
from hidet.target import Target

ACCESSES = (4, 8, 16)
"""Bytes that one asynchronous copy can have."""
MANY = 16
"""Copies of a thread whose addresses the compiler makes of each other."""


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

    def waits(self, target: Target) -> tuple[float, float]:
        """Copies that begin some iterations before they are read share one memory latency."""
        return target.measured.memory_latency / (self.stages - 1), 0.0

    @property
    def buffers(self) -> int:  # type: ignore[override]
        """One pair of tiles for each stage."""
        return self.stages

    def vector_width(self, p: Contraction, left: bool) -> int:
        """As many as are all inside of the operand, or all outside."""
        return min(self.widest, p.a_contiguity if left else p.b_contiguity)

    def staging(self, p: Contraction) -> int:
        """Fragments of the next step along k, of which some come into the place of the last ones,
        and where each copy comes from; many of these take two registers each."""
        copies = self.copies(p)
        return sum(self.warp_tile) // 4 - 8 + copies + max(copies - MANY, 0)

    def copies(self, p: Contraction) -> int:
        """A thread's copies of an iteration, as if pieces were whole."""
        return sum(self.block) * self.depth // VECTOR // self.threads

    @part
    def accumulate(self, operands: Operands, accumulators: Registers, iterations: Any) -> None:
        """The main loop, with asynchronous copies.

        A warp loads the fragments of the next step along k before it multiplies those of this one,
        and those of the next iteration before the last products of this one, so that tensor cores
        wait neither for shared memory nor at the barrier. Copies begin behind the first loads,
        which would wait for them otherwise.
        """
        pipe, steps = CopyPipeline(self.stages, operands), self.steps(operands)
        pipe.begin(iterations)
        fragments_a, fragments_b = self.fragments(operands, 2)
        if iterations > 0:
            pipe.wait()
            self.load(operands, fragments_a, fragments_b, 0, 0, 0)
        for iteration in range(iterations):
            for deep in static(range(steps)):
                if deep + 1 < steps:
                    buffer, after = iteration % self.stages, deep + 1
                    self.load(operands, fragments_a, fragments_b, after % 2, buffer, after)
                else:
                    pipe.wait()
                    following = minimum(iteration + 1, iterations - 1) % self.stages
                    self.load(operands, fragments_a, fragments_b, 0, following, 0)
                if deep == 0:
                    pipe.load(iteration + pipe.ahead, iterations)
                self.add(fragments_a, fragments_b, accumulators, deep % 2)


def is_copyable(p: Contraction) -> bool:
    """Whether copies of at least four bytes find elements of one row, all there or none."""
    return min(p.a_contiguity * p.a.dtype.nbytes, p.b_contiguity * p.b.dtype.nbytes) >= min(
        ACCESSES
    )


def in_stages(p: Contraction, target: Target) -> bool:
    """Whether tensor cores may multiply these, and asynchronous copies can bring them."""
    return by_tensor_cores(p, target) and target.has_feature("cp_async") and is_copyable(p)
