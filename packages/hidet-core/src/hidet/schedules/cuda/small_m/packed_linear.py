"""Linear layers of packed weights on GPUs: a few rows of x meet the words as they come from memory.

They take the time in which weights are read, which is a quarter of float16's. More rows are
multiplied faster by weights that were unpacked before the first call.
"""

from __future__ import annotations

from dataclasses import dataclass

from hidet.cost import Work
from hidet.lang import (
    ScriptFunction,
    cast,
    cdiv,
    grid,
    minimum,
    register_tensor,
    script,
    static,
    unroll,
    vectorize,
)
from hidet.lang.memory import get
from hidet.ops.quantized.packed_linear import PackedLinear
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cuda.small_m.latency import Latency
from hidet.schedules.cuda.small_m.matmul import is_even, is_few
from hidet.schedules.cuda.small_m.packed_weights import WORDS, PackedProduct, packed_product
from hidet.schedules.cuda.small_m.reading import SmallM, small_m
from hidet.schedules.cuda.small_m.simt import ThreadReading
from hidet.schedules.space import choice
from hidet.schedules.unpacking import IN_WORD, UNPACKED, in_float32, number
from hidet.target import Target
from hidet.types import bf16, f16, f32, i32


@dataclass(frozen=True)
class PackedSmallM(SmallM):
    """By CUDA cores."""

    along: int = choice(32, 16, 64, 128)
    warps: int = choice(4, 8, 2)
    pieces: int = choice(2, 1, 4)
    steps: int = choice(1, 2)
    slices: int = choice(1, 2, 4)
    neighbours: int = choice(2, 4)

    def reading(self, p: PackedProduct) -> WordReading:
        """Who reads what."""
        return WordReading(p, self)

    def form(self, op: PackedLinear) -> PackedProduct:
        """The product of packed weights."""
        return packed_product(op)

    def fits_on(self, p: PackedProduct, target: Target) -> bool:
        """Whether there are as many threads."""
        return self.along <= self.threads and is_even(self.reading(p), target)

    def work_on(self, p: PackedProduct, target: Target) -> Work:
        """Each word is read once."""
        return Latency(self.reading(p), target, by_units=False).work()


@dataclass(frozen=True)
class WordReading(ThreadReading):
    """Threads read words along k."""

    p: PackedProduct

    @property
    def vector(self) -> int:
        return WORDS * IN_WORD

    @property
    def nbytes(self) -> int:
        return WORDS * i32.nbytes

    @property
    def effort(self) -> float:
        return 1 + UNPACKED / self.rows

    @property
    def alike(self) -> int:
        """Numbers of a read that have one scale."""
        return min(self.p.op.block, self.vector)

    def gathering(self) -> ScriptFunction:
        p, point, rows, width, depth = self.p, self.point, self.rows, self.width, self.depth
        turns = cdiv(p.k, self.turn * point.slices)
        parts = range(0, depth, self.alike)

        @script
        def gather(a, b, sums, z, left, share):  # type: ignore[no-untyped-def]
            own, part = self.place()
            j = left + own * width
            for turn in range(turns):
                first = (share * turns + turn) * self.turn + part * depth
                held = register_tensor(i32, (point.steps, width, WORDS))
                for step, piece in unroll(grid(point.steps, width)):
                    word = (first + step * self.step) // IN_WORD
                    for v in vectorize(WORDS):
                        at = minimum(word, p.numbers - WORDS) + v
                        held[step, piece, v] = get(b, j + piece, at)
                for step, i in unroll(grid(point.steps, rows)):
                    row = register_tensor(f32, (depth,))
                    for deep in vectorize(depth):
                        at = p.a_at(z, i, first + step * self.step + deep)
                        row[deep] = cast(get(a, *at), f32)
                    for piece in unroll(width):
                        for begin in static(parts):
                            r = first + step * self.step + begin
                            unit, base = p.unit_and_base(b, j + piece, r)
                            total = cast(0.0, f32)
                            for deep in static(range(begin, begin + self.alike)):
                                word = held[step, piece, deep // IN_WORD]
                                total += (number(word, deep % IN_WORD) - base) * row[deep]
                            sums[i * width + piece] += unit * total

        return gather


def is_taken(op: PackedLinear) -> bool:
    """Whether few rows are summed in float32, and a head has place for the type of scales."""
    has_place = op.scale.dtype in (f16, bf16, f32)
    return has_place and in_float32(op) and is_few(packed_product(op))


@schedule_for(
    PackedLinear, target="cuda", space=PackedSmallM, when=lambda op, target: is_taken(op),
)  # fmt: skip
def packed_small_m(op: PackedLinear, target: Target, point: PackedSmallM) -> Scheduled:
    """Few rows of x, as the words come from memory."""
    return Scheduled(small_m(op.name, point.reading(packed_product(op))), point)
