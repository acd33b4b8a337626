"""Loads of lines of few channels to shared memory, through hooks (`overlap.py`)."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from hidet.ir.expr import Value
from hidet.lang import Global, Int, Shared, part, record, register_tensor, static, vectorize
from hidet.lang.memory import get
from hidet.schedules.contraction import Index
from hidet.schedules.cuda.convolution.overlap import LINE, Overlap

IN_FLIGHT = 5
"""Lines that a thread has in flight at a time."""


@record
class Lines:
    """Lines of an operand, by number: threads side by side read what lies side by side."""

    p: Overlap
    operand: Global
    count: int

    @abstractmethod
    def source(self, number: Value, pixel: Value, channel: int) -> Index:
        """The index in the operand of an element of a line."""

    @abstractmethod
    def place(self, number: Value) -> Index:
        """The index of a line in shared memory."""

    @part
    def load(self, into: Shared, thread: Int, threads: int) -> None:
        """For so many threads, of which this is one: load all lines to shared memory."""
        iterations, at_once = batches(self.count, threads)
        for iteration in range(iterations):
            start = iteration * at_once * threads + thread
            loaded = register_tensor(self.operand.dtype, (at_once, LINE), init=0)
            for step in static(range(at_once)):
                for channel in static(range(self.p.image_channels)):
                    for pixel in vectorize(self.p.pixels):
                        at = self.source(start + step * threads, pixel, channel)
                        loaded[step, channel * self.p.pixels + pixel] = get(self.operand, *at)
            for step in static(range(at_once)):
                number = start + step * threads
                if number < self.count:
                    for v in vectorize(LINE):
                        into[*self.place(number), v] = loaded[step, v]


@record
class Taps(Lines):
    """Those of some columns of the weight, from one on."""

    left: Any

    def source(self, number: Value, pixel: Value, channel: int) -> Index:
        line, column = self.place(number)
        return self.p.tap_at(self.left + column, line, pixel, channel)

    def place(self, number: Value) -> Index:
        each = self.p.k // LINE
        return (number % each, number // each)


@record
class PlaneLines(Lines):
    """Those of a tile, as many of each plane, from line `top` of an image on."""

    length: int
    stage: Any
    z: Any
    top: Any

    def source(self, number: Value, pixel: Value, channel: int) -> Index:
        return self.p.x_at(self.z, self.top, number, self.length, pixel, channel)

    def place(self, number: Value) -> Index:
        return (self.stage, number // self.length, number % self.length)


def batches(count: int, threads: int) -> tuple[int, int]:
    """In how many iterations threads load so many lines, and how many each has in flight."""
    each = -(-count // threads)
    iterations = -(-each // IN_FLIGHT)
    return iterations, -(-each // iterations)
