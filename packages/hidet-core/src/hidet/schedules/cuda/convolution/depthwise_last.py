"""Depthwise convolutions with channels last on CUDA: each thread sums neighbouring channels.

A thread takes as many channels as one access has, of a few neighbouring places, whose windows share
what is read. The weight of a block's channels lies in shared memory, channels last there too.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    shared_tensor,
    static,
    unroll,
    vectorize,
)
from hidet.lang.cuda import blockIdx, syncthreads, threadIdx
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

MOST_REGISTERS = 96
"""Registers for sums and a row of the window."""
STEPS = Steps(alone=800, beside=135)


@dataclass(frozen=True)
class Vectors:
    """How many vectors of channels a block takes, of how many places and rows each thread, and
    threads."""

    across: int = choice(8, 4, 16, 2)
    each: int = choice(2, 1, 4)
    rows: int = choice(1, 2, 4)
    threads: int = choice(128, 64, 256)

    def lanes(self, op: Conv) -> int:
        """Channels of a vector."""
        widest = ACCESS_BYTES // op.x.dtype.nbytes
        return min(widest, contiguity(op.weight.shape[0]))

    def patch(self, op: Conv) -> Patch:
        """The places of a thread."""
        return Patch(Depthwise(op), self.each, self.rows)

    def fits(self, op: Conv, target: Target) -> bool:
        """Whether sums and a row have registers, and channels are not mostly missing."""
        enough = self.across == 2 or self.across * self.lanes(op) < 2 * estimated(
            op.weight.shape[0]
        )
        registers_needed = self.each * self.rows + self.patch(op).reach
        return (
            enough and self.patch(op).shares and registers_needed * self.lanes(op) <= MOST_REGISTERS
        )

    def work(self, op: Conv, target: Target) -> Work:
        """Whole threads; loads and sums cost alike, as do the weight's; a wait for each of them,
        and as much for blocks whose channels are not all there."""
        d, lanes, patch = Depthwise(op), self.lanes(op), self.patch(op)
        down, across = -(-estimated(d.out[0]) // self.rows), -(-estimated(d.out[1]) // self.each)
        blocks = -(-estimated(d.images) * down * across // (self.threads // self.across))
        blocks *= -(-estimated(d.channels) // (self.across * lanes))
        operations = len(patch.needed) * patch.reach * (lanes + 8)
        operations += len(d.taps) * self.each * self.rows * lanes
        registers = lanes * (self.each * self.rows + patch.reach) + 32
        waits = 2 if estimated(d.channels) % (self.across * lanes) == 0 else 3
        return STEPS.work(d, operations + 60, blocks, self.threads, registers, waits, target)


@schedule_for(
    Conv, target="cuda", space=Vectors,
    when=lambda op, target: op.channels_last and is_depthwise(op) and op.x.dtype.is_float,
)  # fmt: skip
def depthwise_vectors(op: Conv, target: Target, point: Vectors) -> Scheduled:
    """A block works on some channels of some places; the next one on the channels beside them."""
    d, each, rows, lanes = Depthwise(op), point.each, point.rows, point.lanes(op)
    deep, columns = cdiv(d.out[0], rows), cdiv(d.out[1], each)
    chunk, places = point.across * lanes, point.threads // point.across
    chunks = cdiv(d.channels, chunk)
    bias_type = operand_type(op.bias, op.x)

    with script_module():
        stage, add = staging(d, chunk, point.threads), adding(d, point)

        @script(x=op.x, weight=op.weight, bias=bias_type, y=op.infer())
        def depthwise(x: Global, weight: Global, bias: Global, y: Global) -> None:
            attr.func_name = op.name
            attr.cuda_grid_dim = cdiv(d.images * deep * columns, places) * chunks
            attr.cuda_block_dim = point.threads
            first = blockIdx.x % chunks * chunk
            taps = shared_tensor(op.x.dtype, (len(d.taps), chunk))
            stage(weight, taps, first)
            place = blockIdx.x // chunks * places + threadIdx.x // point.across
            inner = threadIdx.x % point.across * lanes
            image, top = place // columns // deep, place // columns % deep * rows
            left = place % columns * each
            accumulators = register_tensor(d.wide, (rows, each, lanes), init=0.0)
            add(x, taps, accumulators, image, top, left, first, inner)
            for i, out in unroll(grid(rows, each)):
                for v in vectorize(lanes):
                    value = accumulators[i, out, v]
                    if op.bias is not None:
                        value += cast(get(bias, first + inner + v), d.wide)
                    y.put(image, top + i, left + out, first + inner + v, cast(value, op.result))

    return Scheduled(assemble(op.name, [depthwise], op.operand_labels(), ["y"]), point)


def staging(d: Depthwise, chunk: int, threads: int) -> ScriptFunction:
    """A part of a kernel: the weight of a block's channels to shared memory, channels last."""
    count = len(d.taps)

    @script
    def stage(weight, taps, first):  # type: ignore[no-untyped-def]
        for iteration in unroll(-(-count * chunk // threads)):
            number = iteration * threads + threadIdx.x
            if number < count * chunk:
                k, tap = number // count, number % count
                taps[tap, k] = get(weight, first + k, tap // d.window[1], tap % d.window[1], 0)
        syncthreads()

    return stage


def adding(d: Depthwise, point: Vectors) -> ScriptFunction:
    """A part of a kernel: a thread's sums, over the rows of x that its windows have."""
    op, each, lanes, patch = d.op, point.each, point.lanes(d.op), point.patch(d.op)
    (down, along), along_by = op.stride, op.dilation[1]
    (above, _), (before, _) = op.padding

    @script
    def add(x, taps, accumulators, image, top, left, first, inner):  # type: ignore[no-untyped-def]
        for high in static(patch.needed):
            row = register_tensor(d.wide, (patch.reach, lanes))
            for j in unroll(patch.reach):
                at = (top * down + high - above, left * along + j - before)
                for v in vectorize(lanes):
                    value = get(x, image, *at, (first + inner + v) // d.source)
                    row[j, v] = cast(value, d.wide)
            for i, tall in static(patch.uses(high)):
                for wide in static(range(d.window[1])):
                    tap = register_tensor(d.wide, (lanes,))
                    for v in vectorize(lanes):
                        tap[v] = cast(taps[tall * d.window[1] + wide, inner + v], d.wide)
                    for out, v in unroll(grid(each, lanes)):
                        accumulators[i, out, v] += tap[v] * row[out * along + wide * along_by, v]

    return add
