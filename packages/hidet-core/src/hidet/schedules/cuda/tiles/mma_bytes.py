"""Tiles of 8-bit integers on tensor cores: `mma.sync` m16n8k32, exact accumulators in int32.

Operands may be signed or not, each by itself. Tiles lie along k in shared memory, as `ldmatrix`
turns no bytes: operands that do not are turned as threads put them there.
"""

from __future__ import annotations

from dataclasses import dataclass

from hidet import options
from hidet.schedules.contraction import Contraction
from hidet.schedules.cuda.tiles.mma import Warps
from hidet.schedules.cuda.tiles.pipeline import Stages, is_copyable
from hidet.schedules.cuda.tiles.staging import Side
from hidet.schedules.space import choice
from hidet.target import Target
from hidet.types import DType, i8, i32, u8

VECTOR = 16
"""Elements of a 16-byte access."""


class AlongK(Side):
    """A tile whose rows run along k in shared memory, however the operand lies."""

    @property
    def shared_along_k(self) -> bool:
        return True


@dataclass(frozen=True)
class ByteWarps(Warps):
    """A block's tile of the result, its depth, how warps divide it, how many blocks share k."""

    depth: int = choice(64, 128)

    widest = VECTOR
    side_type = AlongK

    def accumulator_type(self, p: Contraction) -> DType:
        """The type of the accumulators."""
        return i32

    def partial_type(self, p: Contraction) -> DType:
        """Split-K partials are exact."""
        return i32

    def unit(self, p: Contraction) -> str:
        """Signed and unsigned bytes are multiplied alike."""
        return i8.name


@dataclass(frozen=True)
class ByteStages(ByteWarps, Stages):
    """The same with asynchronous copies several iterations ahead, of operands that lie along k."""

    depth: int = choice(64, 128)

    def copies(self, p: Contraction) -> int:
        """A thread's copies of an iteration, in pieces as wide as they are."""
        return sum(side.steps for side in self.sides(p))


def in_bytes(p: Contraction, target: Target) -> bool:
    """Whether tensor cores may multiply these as bytes: by types, target and options."""
    bytes_ = {p.a.dtype, p.b.dtype} <= {i8, u8} and p.c.dtype is i32 and not p.empty
    allowed = options.mma.get() == "mma" and target.has_feature("mma_int8")
    return bytes_ and allowed


def bytes_in_stages(p: Contraction, target: Target) -> bool:
    """Whether asynchronous copies can bring them: nothing is turned on the way."""
    return along_k_in_bytes(p, target) and target.has_feature("cp_async") and is_copyable(p)


def along_k_in_bytes(p: Contraction, target: Target) -> bool:
    """Whether both operands lie along k, where warpgroups find bytes."""
    return in_bytes(p, target) and p.a_along_k and p.b_along_k
