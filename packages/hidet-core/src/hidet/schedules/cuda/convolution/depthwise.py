"""Depthwise convolutions on CUDA: each thread sums a patch of a plane, reading its rows once.

Neighbours of a row are read in whole accesses where they are aligned; what a window has beside
these comes from the L1 cache, where the threads beside have it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from hidet.cost import Work
from hidet.lang import (
    Global,
    ScriptFunction,
    attr,
    cast,
    cdiv,
    grid,
    register_tensor,
    script,
    script_module,
    static,
    unroll,
    vectorize,
)
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.lang.memory import get
from hidet.ops.windows.conv import Conv
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.contraction import contiguity
from hidet.schedules.cuda.convolution.patch import Patch, Steps
from hidet.schedules.depthwise import Depthwise, is_depthwise
from hidet.schedules.space import choice
from hidet.schedules.typical import estimated
from hidet.target import ACCESS_BYTES, Target

MOST_REGISTERS = 160
"""Registers for accumulators, a row of x and weights."""
STEPS = Steps(alone=150, beside=700)


@dataclass(frozen=True)
class Patches:
    """How many neighbours a thread sums, of how many rows, and how many threads a block has."""

    each: int = choice(8, 4, 2, 1)
    rows: int = choice(4, 2, 1)
    threads: int = choice(128, 64, 32, 256)

    def fits(self, op: Conv, target: Target) -> bool:
        """Whether neighbours are one access, rows share what is read, and all has registers."""
        patch = Reading(Depthwise(op), self.each, self.rows)
        registers_needed = self.each * self.rows + patch.reach + patch.live
        whole = self.each * op.x.dtype.nbytes <= ACCESS_BYTES
        return whole and patch.shares and registers_needed <= MOST_REGISTERS

    def work(self, op: Conv, target: Target) -> Work:
        """Whole threads; an access costs as a few sums do."""
        d = Depthwise(op)
        patch = Reading(d, self.each, self.rows)
        down, across = -(-estimated(d.out[0]) // self.rows), -(-estimated(d.out[1]) // self.each)
        blocks = -(-estimated(d.planes) * down * across // self.threads)
        sums = self.each * self.rows * (len(d.taps) + 1)
        read = len(patch.needed) * (patch.reach + 6 * len(patch.parts)) + len(d.taps)
        steps = sums + read + 60
        return STEPS.work(d, steps, blocks, self.threads, patch.registers, 1, target)


@dataclass(frozen=True)
class Reading(Patch):
    """A patch with how its thread reads and writes."""

    @property
    def registers(self) -> int:
        """Registers of a thread, for estimates: all that it reads is on its way at once."""
        read = len(self.needed) * self.reach * self.d.op.x.dtype.nbytes // 4
        return min(255, self.each * self.rows + read + self.live + 24)

    @property
    def parts(self) -> list[tuple[int, int]]:
        """The accesses that a row of x is read by: places beside the patch, and lengths."""
        op = self.d.op
        widest = gcd(ACCESS_BYTES // op.x.dtype.nbytes, contiguity(op.sizes[1]))
        return self.row.accesses(self.each, widest)

    @property
    def lanes(self) -> int:
        """Neighbours that are written at once."""
        widest = gcd(ACCESS_BYTES // self.d.op.x.dtype.nbytes, contiguity(self.d.out[1]))
        return gcd(widest, self.each)


@schedule_for(
    Conv, target="cuda", space=Patches,
    when=lambda op, target: not op.channels_last and is_depthwise(op) and op.x.dtype.is_float,
)  # fmt: skip
def depthwise_patches(op: Conv, target: Target, point: Patches) -> Scheduled:
    """A thread works on one channel of one image."""
    d = Depthwise(op)
    patch, each, rows = Reading(d, point.each, point.rows), point.each, point.rows
    written = [(i, start) for i in range(rows) for start in range(0, each, patch.lanes)]
    deep, across = cdiv(d.out[0], rows), cdiv(d.out[1], each)
    bias_type = operand_type(op.bias, op.x)

    with script_module():
        add = adding(patch)

        @script(x=op.x, weight=op.weight, bias=bias_type, y=op.infer())
        def depthwise(x: Global, weight: Global, bias: Global, y: Global) -> None:
            attr.func_name = op.name
            attr.cuda_grid_dim = cdiv(d.planes * deep * across, point.threads)
            attr.cuda_block_dim = point.threads
            number = blockIdx.x * point.threads + threadIdx.x
            plane = number // (deep * across)
            top, left = number // across % deep * rows, number % across * each
            if plane < d.planes:
                image, k = plane // d.channels, plane % d.channels
                accumulators = register_tensor(d.wide, (rows, each), init=0.0)
                add(x, weight, accumulators, image, k, top, left)
                for i, start in static(written):
                    for v in vectorize(patch.lanes):
                        value = accumulators[i, start + v]
                        if op.bias is not None:
                            value += cast(get(bias, k), d.wide)
                        y.put(image, k, top + i, left + start + v, cast(value, op.result))

    return Scheduled(assemble(op.name, [depthwise], op.operand_labels(), ["y"]), point)


def adding(patch: Reading) -> ScriptFunction:
    """A part of a kernel: a thread's sums, over the rows of x that its windows have."""
    d, op, (tall, long) = patch.d, patch.d.op, patch.d.window
    (down, along), along_by = op.stride, op.dilation[1]
    (above, _), (before, _) = op.padding

    @script
    def add(x, weight, accumulators, image, k, top, left):  # type: ignore[no-untyped-def]
        taps = register_tensor(d.wide, (tall, long))
        for high, wide in unroll(grid(tall, long)):
            taps[high, wide] = cast(get(weight, k, 0, high, wide), d.wide)
        for high in static(patch.needed):
            row = register_tensor(d.wide, (patch.reach,))
            for start, width in static(patch.parts):
                for v in vectorize(width):
                    at = (top * down + high - above, left * along + start + v)
                    row[start + before + v] = cast(get(x, image, k // d.source, *at), d.wide)
            for i, tap in static(patch.uses(high)):
                for wide, v in unroll(grid(long, patch.each)):
                    accumulators[i, v] += taps[tap, wide] * row[v * along + wide * along_by]

    return add
