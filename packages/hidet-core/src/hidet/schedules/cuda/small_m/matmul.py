"""Small-M matmuls: schedules that read each element of the matrix once."""

from __future__ import annotations

from dataclasses import dataclass

from hidet.cost import Work
from hidet.ops.products.matmul import Linear, Matmul
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cuda.small_m.latency import Latency
from hidet.schedules.cuda.small_m.mma import WarpReading
from hidet.schedules.cuda.small_m.reading import FEW, Reading, SmallM, small_m
from hidet.schedules.cuda.small_m.simt import ThreadReading
from hidet.schedules.cuda.tiles.mma import VECTOR, by_tensor_cores
from hidet.schedules.product import Product, product_of
from hidet.schedules.space import choice
from hidet.schedules.typical import estimated
from hidet.target import Target

MOST_READS = 8
"""Reads that a thread has in flight at once: compilers keep fewer of more."""
MOST_BYTES = 64 * 1024
"""Bytes that a block has in flight: memory has fewer in flight for a multiprocessor."""
LINE = 64
"""Bytes that threads side by side read together, at least."""
HALF = 4
"""Rows of half precision, at most, that CUDA cores multiply as fast as tensor cores."""
DEEP = 4
"""Neighbours along k that a thread reads of a row of a, at least, where b does not lie along k."""
MANY_THREADS = 512
"""Threads of a block, at most, that have registers for more neighbours than two."""
MOST_THREADS = 2048
"""Threads of a cluster."""


@dataclass(frozen=True)
class MatmulSmallM(SmallM):
    """By CUDA cores."""

    along: int = choice(128, 256, 64, 512, 32, 16)
    warps: int = choice(8, 32, 16, 4)
    pieces: int = choice(1, 2, 4, 8)
    steps: int = choice(2, 1)
    slices: int = choice(1, 2, 4)
    neighbours: int = choice(2, 4)

    def reading(self, p: Product) -> ThreadReading:
        """Who reads what."""
        return ThreadReading(p, self)

    def fits_on(self, p: Product, target: Target) -> bool:
        """Whether there are as many threads, and they read whole lines, and rows in vectors."""
        beside = self.along if p.b_along_k else self.across
        reading = self.reading(p)
        nbytes = beside * reading.vector * p.b.dtype.nbytes
        vectors = p.b_along_k or self.pieces >= DEEP
        whole = self.along <= self.threads and nbytes >= LINE
        return whole and vectors and is_even(reading, target)

    def work_on(self, p: Product, target: Target) -> Work:
        """Each element of b is read once."""
        return Latency(self.reading(p), target, tensor_cores=False).work()


@dataclass(frozen=True)
class MatmulSmallMWarps(SmallM):
    """By tensor cores."""

    along: int = choice(64, 32, 16)
    warps: int = choice(16, 8, 4)
    pieces: int = choice(1, 2)
    steps: int = choice(2, 1)
    slices: int = choice(1, 2, 4)
    neighbours: int = choice(2, 4)

    def reading(self, p: Product) -> WarpReading:
        """Who reads what."""
        return WarpReading(p, self)

    def fits_on(self, p: Product, target: Target) -> bool:
        """Whether there are as many lanes."""
        return self.along <= 4 * self.warps and is_even(self.reading(p), target)

    def work_on(self, p: Product, target: Target) -> Work:
        """Each element of b is read once."""
        return Latency(self.reading(p), target, tensor_cores=True).work()


def is_even(reading: Reading, target: Target) -> bool:
    """Whether blocks write whole groups of neighbours, threads ask for a few reads at once, and all
    blocks of a cluster have something to read."""
    p, point = reading.p, reading.point
    asked = point.threads * reading.reads * reading.nbytes
    few = reading.reads <= MOST_READS and asked <= MOST_BYTES
    few = few and reading.columns % point.neighbours == 0
    few = few and (point.neighbours == 2 or point.threads <= MANY_THREADS)
    if point.slices == 1:
        return few
    possible = point.slices <= target.max_blocks_per_cluster and isinstance(p.k, int)
    fits_cluster = point.slices * point.threads <= MOST_THREADS
    return few and possible and fits_cluster and estimated(p.k) > reading.step * (point.slices - 1)


def is_few(p: Product) -> bool:
    """Whether there are few rows of numbers to multiply."""
    return isinstance(p.m, int) and p.m <= FEW and p.c.dtype.is_float and not p.empty


def by_threads(p: Product, target: Target) -> bool:
    """Whether CUDA cores may multiply these few rows, and no others are faster."""
    return is_few(p) and not (by_tensor_cores(p, target) and estimated(p.m) > HALF)


def by_mma(p: Product, target: Target) -> bool:
    """Whether tensor cores may multiply these few rows, as they lie."""
    return is_few(p) and by_tensor_cores(p, target) and p.b_contiguity % VECTOR == 0


@schedule_for(
    Matmul, Linear, target="cuda", space=MatmulSmallM,
    when=lambda op, target: by_threads(product_of(op), target),
)  # fmt: skip
def matmul_small_m(op: Matmul | Linear, target: Target, point: MatmulSmallM) -> Scheduled:
    """Few rows of the product, as b comes from memory."""
    return Scheduled(small_m(op.name, point.reading(product_of(op))), point)


@schedule_for(
    Matmul, Linear, target="cuda", space=MatmulSmallMWarps,
    when=lambda op, target: by_mma(product_of(op), target),
)  # fmt: skip
def matmul_small_m_mma(op: Matmul | Linear, target: Target, point: MatmulSmallMWarps) -> Scheduled:
    """The same by warps with `mma.sync`."""
    return Scheduled(small_m(op.name, point.reading(product_of(op))), point)
