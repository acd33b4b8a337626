"""Lines of few channels on their way to shared memory, through hooks (`overlap.py`)."""

from __future__ import annotations

from hidet.lang import ScriptFunction, register_tensor, script, static, vectorize
from hidet.lang.cuda import threadIdx
from hidet.lang.memory import get
from hidet.schedules.cuda.convolution.overlap import LINE, Overlap

IN_FLIGHT = 5
"""Lines that a thread has under way at a time."""


def weighing(p: Overlap, columns: int, threads: int) -> ScriptFunction:
    """A part of a kernel, for the first threads: (weight, taps, left). The block's columns of the
    weight, by lines: threads side by side read side by side."""
    each = p.k // LINE
    count = each * columns
    turns, at_once = batches(count, threads)

    @script
    def weigh(b, taps, left):  # type: ignore[no-untyped-def]
        for turn in range(turns):
            start = turn * at_once * threads + threadIdx.x
            held = register_tensor(p.b.dtype, (at_once, LINE), init=0)
            for step in static(range(at_once)):
                number = start + step * threads
                column, line = left + number // each, number % each
                for channel in static(range(p.image_channels)):
                    for pixel in static(range(p.pixels)):
                        at = p.tap_at(column, line, pixel, channel)
                        held[step, channel * p.pixels + pixel] = get(b, *at)
            for step in static(range(at_once)):
                number = start + step * threads
                if number < count:
                    for v in vectorize(LINE):
                        taps[number % each, number // each, v] = held[step, v]

    return weigh


def gathering(p: Overlap, length: int, threads: int, before: int) -> ScriptFunction:
    """A part of a kernel, for as many threads behind those `before`: (x, lines, stage, image, first
    line). A tile's lines of each plane, which are `length`."""
    count = p.planes * length
    turns, at_once = batches(count, threads)

    @script
    def gather(a, lines, stage, z, top):  # type: ignore[no-untyped-def]
        for turn in range(turns):
            start = turn * at_once * threads + threadIdx.x - before
            held = register_tensor(p.a.dtype, (at_once, LINE), init=0)
            for step in static(range(at_once)):
                for channel in static(range(p.image_channels)):
                    for pixel in vectorize(p.pixels):
                        at = (z, top, start + step * threads, length, pixel, channel)
                        held[step, channel * p.pixels + pixel] = get(a, *p.x_at(*at))
            for step in static(range(at_once)):
                number = start + step * threads
                if number < count:
                    for v in vectorize(LINE):
                        lines[stage, number // length, number % length, v] = held[step, v]

    return gather


def batches(count: int, threads: int) -> tuple[int, int]:
    """In how many turns threads bring so many lines, and how many lines each has under way."""
    each = -(-count // threads)
    turns = -(-each // IN_FLIGHT)
    return turns, -(-each // turns)
