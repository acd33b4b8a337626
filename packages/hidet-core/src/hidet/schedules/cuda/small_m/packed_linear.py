"""Linear layers of packed weights on GPUs: a few rows of x meet the words as they come from memory.

They take the time in which weights are read, which is a quarter of float16's. More rows are
multiplied faster by weights that were unpacked before the first call.
"""

from __future__ import annotations

from dataclasses import dataclass

from hidet.cost import Work
from hidet.lang import (
    Global,
    Int,
    Registers,
    cast,
    grid,
    minimum,
    part,
    register_tensor,
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
from hidet.schedules.cuda.small_m.reading import SmallM, Step, small_m
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
        return Latency(self.reading(p), target, tensor_cores=False).work()


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
    def numbers_per_scale(self) -> int:
        """Numbers of a read that have one scale."""
        return min(self.p.op.block, self.vector)

    @part
    def read(self, b: Global, z: Int, first: Int, j: Int) -> Registers:
        loaded = register_tensor(i32, (self.point.steps, self.width, WORDS))
        for step, piece in unroll(grid(self.point.steps, self.width)):
            word = (first + step * self.step) // IN_WORD
            for v in vectorize(WORDS):
                at = minimum(word, self.p.numbers - WORDS) + v
                loaded[step, piece, v] = get(b, j + piece, at)
        return loaded

    @part
    def multiply(self, here: Step, loaded: Registers, accumulators: Registers) -> None:
        for i in unroll(self.rows):
            row = self.row_of(here, i)
            for piece in unroll(self.width):
                for begin in static(range(0, self.depth, self.numbers_per_scale)):
                    r = here.first + begin
                    unit, base = self.p.unit_and_base(here.b, here.j + piece, r)
                    total = cast(0.0, f32)
                    for deep in static(range(begin, begin + self.numbers_per_scale)):
                        word = loaded[here.number, piece, deep // IN_WORD]
                        total += (number(word, deep % IN_WORD) - base) * row[deep]
                    accumulators[i * self.width + piece] += unit * total


def is_supported(op: PackedLinear) -> bool:
    """Whether few rows are summed in float32, and a head has place for the type of scales."""
    has_place = op.scale.dtype in (f16, bf16, f32)
    return has_place and in_float32(op) and is_few(packed_product(op))


@schedule_for(
    PackedLinear, target="cuda", space=PackedSmallM, when=lambda op, target: is_supported(op),
)  # fmt: skip
def packed_small_m(op: PackedLinear, target: Target, point: PackedSmallM) -> Scheduled:
    """Few rows of x, as the words come from memory."""
    return Scheduled(small_m(op.name, point.reading(packed_product(op))), point)
