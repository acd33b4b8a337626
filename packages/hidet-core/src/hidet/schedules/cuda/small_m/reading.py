"""Small-M matmuls: elements of b go from memory straight to the threads that multiply them.

Such a matmul takes the time in which b is read. So each element of b is read once, by one thread,
which multiplies it by all rows; a thread has several reads in flight. At the end threads with
partial results of the same elements reduce them: lanes of a warp by shuffles, warps in shared
memory, the blocks of a cluster in distributed shared memory. Always in the same order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import gcd
from typing import Any

from hidet.ir.expr import Value
from hidet.ir.kernel import Module
from hidet.lang import (
    Global,
    Int,
    Registers,
    Shared,
    attr,
    cdiv,
    grid,
    part,
    register_tensor,
    script,
    script_module,
    shared_tensor,
    unroll,
    vectorize,
)
from hidet.lang.cuda import blockIdx, cluster_sync, syncthreads
from hidet.lang.memory import get
from hidet.schedules.assemble import assemble, marked, operand_type
from hidet.schedules.contraction import Contraction, names_of
from hidet.schedules.cuda.cluster_partials import ClusterPartials
from hidet.schedules.cuda.epilogue import Epilogue
from hidet.schedules.forms import Formed
from hidet.schedules.typical import estimated
from hidet.target import ACCESS_BYTES, WARP

FEW = 8
"""Rows, at most, that a thread multiplies each element of b by."""


class SmallM(Formed):
    """A point of a space: how many threads split k, and what each has in flight at once."""

    along: int
    """Threads of a block among which k is split."""
    warps: int
    """Warps of a block."""
    pieces: int
    """How many vectors of b are side by side, not along memory, of those that a thread reads at a
    step; or pairs of them."""
    steps: int
    """Steps along k whose reads are in flight together."""
    slices: int
    """Blocks of a cluster among which k is split."""
    neighbours: int
    """Columns side by side that a thread writes: an epilogue may need all of them."""

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return WARP * self.warps

    @property
    def across(self) -> int:
        """Threads of a block that read different columns."""
        return self.threads // self.along


@dataclass(frozen=True)
class Step:
    """Which elements a thread multiplies at a step: of matmul `z`, from row `first` of b and column
    `j` on."""

    number: Any
    a: Global
    b: Global
    z: Any
    first: Any
    j: Any


@dataclass(frozen=True)
class Reading(ABC):
    """Who reads which elements of b: at a step a thread has `depth` of each of `width` columns."""

    p: Contraction
    point: SmallM

    @property
    def vector(self) -> int:
        """Neighbours in memory that are read at once."""
        return gcd(self.p.b_contiguity, ACCESS_BYTES // self.p.b.dtype.nbytes)

    @property
    def nbytes(self) -> int:
        """Bytes that are read at once."""
        return self.vector * self.p.b.dtype.nbytes

    @property
    def effort(self) -> float:
        """What a multiply-add takes, with its part of what makes numbers of what is read."""
        return 1.0

    @property
    def rows(self) -> int:
        """Rows of the product."""
        return estimated(self.p.m)

    @property
    @abstractmethod
    def depth(self) -> int:
        """How much of k a thread reads at a step."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Columns of a thread."""

    @property
    @abstractmethod
    def parts(self) -> int:
        """Partial results of each element that a block has in shared memory."""

    @property
    @abstractmethod
    def accumulators(self) -> tuple[int, ...]:
        """The shape of a thread's accumulators."""

    @abstractmethod
    def place(self) -> tuple[Value, Value]:
        """The thread's number among those across and among those along: neighbours in memory are
        read by threads side by side."""

    @part
    def read(self, b: Global, z: Int, first: Int, j: Int) -> Registers:
        """A thread's elements of b for its steps from element `first` of k on."""
        loaded = register_tensor(b.dtype, (self.point.steps, self.depth, self.width))
        for step, number in unroll(grid(self.point.steps, self.vectors)):
            for v in vectorize(self.vector):
                deep, right = self.at(number, v)
                at = self.p.b_at(z, first + step * self.step + deep, j + right)
                loaded[step, deep, right] = get(b, *at)
        return loaded

    @abstractmethod
    def multiply(self, here: Step, loaded: Registers, accumulators: Registers) -> None:
        """A part of kernels: a thread adds products of a step's elements to its accumulators."""

    @abstractmethod
    def store(self, accumulators: Registers, parts: Shared) -> None:
        """A part of kernels: reduce over lanes and store partial results in shared memory."""

    @part
    def main_loop(
        self, a: Global, b: Global, accumulators: Registers, z: Int, left: Int, split: Int
    ) -> None:
        """Accumulate this thread's part of k for its columns, of those from `left` on."""
        iterations = cdiv(self.p.k, self.iteration_depth * self.point.slices)
        own, along = self.place()
        j = left + own * self.width
        for iteration in range(iterations):
            first = (split * iterations + iteration) * self.iteration_depth + along * self.depth
            loaded = self.read(b, z, first, j)
            for step in unroll(self.point.steps):
                here = Step(step, a, b, z, first + step * self.step, j)
                self.multiply(here, loaded, accumulators)

    @property
    def columns(self) -> int:
        """Columns of a block."""
        return self.point.across * self.width

    @property
    def step(self) -> int:
        """How much of k a block reads at a step."""
        return self.point.along * self.depth

    @property
    def iteration_depth(self) -> int:
        """How much of k a block has in flight at once."""
        return self.point.steps * self.step

    @property
    def vectors(self) -> int:
        """Reads of a thread at a step."""
        return self.depth * self.width // self.vector

    @property
    def reads(self) -> int:
        """Reads that a thread has in flight at once."""
        return self.point.steps * self.vectors

    def at(self, number: int, v: int) -> tuple[int, int]:
        """Where an element of a read is among the thread's own: along k, and across."""
        if self.p.b_along_k:
            per_column = self.depth // self.vector
            return number % per_column * self.vector + v, number // per_column
        per_row = self.width // self.vector
        return number // per_row, number % per_row * self.vector + v


def small_m(name: str, reading: Reading) -> Module:
    """A contraction of few rows as one kernel."""
    p, point, columns = reading.p, reading.point, reading.columns
    tile, slices, bias_type = (reading.rows, columns), point.slices, operand_type(p.bias, p.c)

    with script_module():

        @script(a=p.a, b=p.b_stored, bias=bias_type, c=p.c)
        def product(a: Global, b: Global, bias: Global, c: Global) -> None:
            attr.func_name = name
            attr.cuda_grid_dim = (cdiv(p.n, columns), slices, p.batch)
            attr.cuda_block_dim = point.threads
            attr.cuda_cluster_dim = (1, slices, 1)
            left, split, z = blockIdx.x * columns, blockIdx.y, blockIdx.z
            accumulators = register_tensor(p.wide, reading.accumulators, init=0)
            reading.main_loop(a, b, accumulators, z, left, split)
            parts = shared_tensor(p.wide, (reading.parts, 1, reading.rows, columns))
            reading.store(accumulators, parts)
            partials = ClusterPartials(parts, tile, point.threads, slices, point.neighbours)
            if slices > 1:
                cluster_sync()
            else:
                syncthreads()
            partials.add(Epilogue(p, bias, c, left), z, split, 0, 0)
            # A block's shared memory goes with it: it stays until all others have read there.
            if slices > 1:
                cluster_sync()

        kernels = [*p.placing(name, reading.rows, "cuda"), product]
    # No multiprocessor's cache keeps what is read of b: others are to be kept there.
    return marked(assemble(name, kernels, names_of(p), ["c"], p.made), once=["b"])
