"""The main loop of tiles that come through registers, in two buffers.

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
    def flight(self) -> tuple[Registers, Registers]:
        """Registers for a thread's vectors of a pair of tiles."""
        flight_a, flight_b = self.a.side.flight(), self.b.side.flight()
        return flight_a, flight_b

    @part
    def fetch(self, flight: Any, turn: Int) -> None:
        """A thread's vectors of an iteration's tiles are on their way to registers."""
        depth = self.a.side.depth
        self.a.side.fetch(self.a, flight[0], self.first + turn * depth)
        self.b.side.fetch(self.b, flight[1], self.first + turn * depth)

    @part
    def place(self, flight: Any, number: Int) -> None:
        """A thread's vectors, from registers to one of the pairs of tiles."""
        self.a.side.place(self.a, flight[0], number)
        self.b.side.place(self.b, flight[1], number)

    @part
    def begin(self) -> None:
        """Nothing comes with the copies of the first tiles."""

    @part
    def load(self, stage: Int, turn: Int) -> None:
        """Asynchronous copies of an iteration's tiles are under way."""
        depth = self.a.side.depth
        self.a.side.copy(self.a, stage, self.first + turn * depth)
        self.b.side.copy(self.b, stage, self.first + turn * depth)


@record
class Products:
    """What threads do with a pair of tiles, at a point of a space."""

    point: Any
    in_background = False
    """Whether products run on by themselves until `finish` waits for them."""

    @part
    def place(self, operands: Operands, flight: Any, number: Int) -> None:
        """The next pair goes to shared memory."""
        operands.place(flight, number)

    @part
    def multiply(self, operands: Operands, sums: Registers, number: Int) -> None:
        """The products of a pair begin."""
        self.point.multiply(operands, sums, number)

    @part
    def finish(self, sums: Registers) -> None:
        """All of them are in the sums."""


@part
def through_registers(operands: Operands, products: Products, sums: Registers, turns: Any) -> None:
    """The products of `turns` pairs of tiles are added to the sums."""
    flight, early = operands.flight(), products.in_background
    operands.fetch(flight, 0)
    products.place(operands, flight, 0)
    syncthreads()
    if early and turns > 1:
        operands.fetch(flight, 1)
    for turn in range(turns):
        if not early and turn + 1 < turns:
            operands.fetch(flight, turn + 1)
        products.multiply(operands, sums, turn % 2)
        if turn + 1 < turns:
            products.place(operands, flight, (turn + 1) % 2)
        if early and turn + 2 < turns:
            operands.fetch(flight, turn + 2)
        products.finish(sums)
        syncthreads()
