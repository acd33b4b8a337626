"""The main loop of tiles that are staged through registers, in two buffers.

Threads hold the next pair of tiles in registers while they multiply one; products that run in the
background leave them time to put it in its place meanwhile.
"""

from __future__ import annotations

from typing import Any

from hidet.lang import Int, Registers, part, record
from hidet.lang.cuda import syncthreads
from hidet.schedules.cuda.tiles.staging import Source


@record
class Operands:
    """The tiles of both operands from element `first` of k on."""

    a: Source
    b: Source
    first: Any

    @part
    def staging(self) -> tuple[Registers, Registers]:
        """Registers for a thread's vectors of a pair of tiles."""
        staging_a, staging_b = self.a.side.staging(), self.b.side.staging()
        return staging_a, staging_b

    @part
    def fetch(self, staging: Any, iteration: Int) -> None:
        """A thread's vectors of an iteration's tiles are on their way to registers."""
        depth = self.a.side.depth
        self.a.side.fetch(self.a, staging[0], self.first + iteration * depth)
        self.b.side.fetch(self.b, staging[1], self.first + iteration * depth)

    @part
    def store(self, staging: Any, buffer: Int) -> None:
        """A thread's vectors, from registers to one of the pairs of tiles."""
        self.a.side.store(self.a, staging[0], buffer)
        self.b.side.store(self.b, staging[1], buffer)

    @part
    def begin(self) -> None:
        """Nothing comes with the copies of the first tiles."""

    @part
    def load(self, stage: Int, iteration: Int) -> None:
        """Asynchronous copies of an iteration's tiles are under way."""
        depth = self.a.side.depth
        self.a.side.copy(self.a, stage, self.first + iteration * depth)
        self.b.side.copy(self.b, stage, self.first + iteration * depth)


@record
class Products:
    """What threads do with a pair of tiles, at a point of a space."""

    point: Any
    in_background = False
    """Whether products run on by themselves until `finish` waits for them."""

    @part
    def store(self, operands: Operands, staging: Any, buffer: Int) -> None:
        """The next pair goes to shared memory."""
        operands.store(staging, buffer)

    @part
    def multiply(self, operands: Operands, accumulators: Registers, buffer: Int) -> None:
        """The products of a pair begin."""
        self.point.multiply(operands, accumulators, buffer)

    @part
    def finish(self, accumulators: Registers) -> None:
        """All of them are in the accumulators."""


@part
def through_registers(
    operands: Operands, products: Products, accumulators: Registers, iterations: Any
) -> None:
    """The products of `iterations` pairs of tiles are added to the accumulators."""
    staging, in_background = operands.staging(), products.in_background
    operands.fetch(staging, 0)
    products.store(operands, staging, 0)
    syncthreads()
    if in_background and iterations > 1:
        operands.fetch(staging, 1)
    for iteration in range(iterations):
        if not in_background and iteration + 1 < iterations:
            operands.fetch(staging, iteration + 1)
        products.multiply(operands, accumulators, iteration % 2)
        if iteration + 1 < iterations:
            products.store(operands, staging, (iteration + 1) % 2)
        if in_background and iteration + 2 < iterations:
            operands.fetch(staging, iteration + 2)
        products.finish(accumulators)
        syncthreads()
