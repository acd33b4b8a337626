"""Depthwise convolutions with channels last on CUDA: each thread sums neighbouring channels.

A thread takes as many channels as one access has, of a few neighbouring places, whose windows share
what is read. The weight of a block's channels lies in shared memory, channels last there too.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type, index"
from dataclasses import dataclass

from hidet.cost import Work
from hidet.lang import (
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
from hidet.ops.conv import Conv
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.contraction import known, together
from hidet.schedules.depthwise import Depthwise, is_depthwise
from hidet.schedules.space import choice
from hidet.target import ACCESS_BYTES, Target

MOST_REGISTERS = 96
"""Registers for sums and a row of the window."""


@dataclass(frozen=True)
class Vectors:
    """How many vectors of channels a block takes, of how many places each thread, and threads."""

    across: int = choice(8, 4, 16, 2)
    each: int = choice(2, 1, 4)
    threads: int = choice(128, 64, 256)

    def lanes(self, op: Conv) -> int:
        """Channels of a vector."""
        widest = ACCESS_BYTES // op.x.dtype.nbytes
        return min(widest, together(op.weight.shape[0]))

    def reach(self, op: Conv) -> int:
        """Places of a row of x that a thread reads."""
        window = Depthwise(op).window[1]
        return (self.each - 1) * op.stride[1] + (window - 1) * op.dilation[1] + 1

    def fits(self, op: Conv, target: Target) -> bool:
        """Whether sums and a row have registers, and channels are not mostly missing."""
        enough = self.across == 2 or self.across * self.lanes(op) < 2 * known(op.weight.shape[0])
        return enough and (self.each + self.reach(op)) * self.lanes(op) <= MOST_REGISTERS

    def work(self, op: Conv, target: Target) -> Work:
        """Whole threads; loads and sums cost alike, as do the weight's; a wait for each of them."""
        d, lanes = Depthwise(op), self.lanes(op)
        places = known(d.images) * known(d.out[0]) * -(-known(d.out[1]) // self.each)
        blocks = -(-places // (self.threads // self.across))
        blocks *= -(-known(d.channels) // (self.across * lanes))
        taken = d.window[0] * self.reach(op) * (lanes + 8) + len(d.taps) * self.each * lanes
        flops = 2.0 * blocks * self.threads * (taken + 60)
        return Work(*d.nbytes, flops, "float32", blocks, self.threads, rounds=2)


@schedule_for(
    Conv, target="cuda", space=Vectors,
    when=lambda op, target: op.channels_last and is_depthwise(op) and op.x.dtype.is_float,
)  # fmt: skip
def depthwise_vectors(op: Conv, target: Target, point: Vectors) -> Scheduled:
    """A block works on some channels of some places."""
    d, each, lanes = Depthwise(op), point.each, point.lanes(op)
    columns = cdiv(d.out[1], each)
    chunk, rows = point.across * lanes, point.threads // point.across
    bias_type = operand_type(op.bias, op.x)

    with script_module():
        stage, add = staging(d, chunk, point.threads), adding(d, point)

        @script
        def depthwise(x: op.x, weight: op.weight, bias: bias_type, y: op.infer()) -> None:
            attr.func_name = op.name
            attr.cuda_grid_dim = (
                cdiv(d.images * d.out[0] * columns, rows),
                cdiv(d.channels, chunk),
            )
            attr.cuda_block_dim = point.threads
            first = blockIdx.y * chunk
            taps = shared_tensor(op.x.dtype, (len(d.taps), chunk))
            stage(weight, taps, first)
            place = blockIdx.x * rows + threadIdx.x // point.across
            inner = threadIdx.x % point.across * lanes
            image, i = place // columns // d.out[0], place // columns % d.out[0]
            left = place % columns * each
            sums = register_tensor(d.wide, (each, lanes), init=0.0)
            add(x, taps, sums, image, i, left, first, inner)
            for out in unroll(each):
                for v in vectorize(lanes):
                    value = sums[out, v]
                    if op.bias is not None:
                        value += cast(get(bias, first + inner + v), d.wide)
                    y.put(image, i, left + out, first + inner + v, cast(value, op.x.dtype))

    return Scheduled(assemble(op.name, [depthwise], op.operand_labels(), ["y"]), point)


def staging(d: Depthwise, chunk: int, threads: int) -> ScriptFunction:
    """A part of a kernel: the weight of a block's channels to shared memory, channels last."""
    count = len(d.taps)

    @script
    def stage(weight, taps, first):  # type: ignore[no-untyped-def]
        for turn in unroll(-(-count * chunk // threads)):
            number = turn * threads + threadIdx.x
            if number < count * chunk:
                k, tap = number // count, number % count
                taps[tap, k] = get(weight, first + k, tap // d.window[1], tap % d.window[1], 0)
        syncthreads()

    return stage


def adding(d: Depthwise, point: Vectors) -> ScriptFunction:
    """A part of a kernel: a thread's sums, over the rows of the window."""
    op, each, lanes, reach = d.op, point.each, point.lanes(d.op), point.reach(d.op)
    (down, along), (down_by, along_by) = op.stride, op.dilation
    (above, _), (before, _) = op.padding

    @script
    def add(x, taps, sums, image, i, left, first, inner):  # type: ignore[no-untyped-def]
        row = register_tensor(op.x.dtype, (reach, lanes))
        for high in unroll(d.window[0]):
            for j in unroll(reach):
                at = (i * down + high * down_by - above, left * along + j - before)
                for v in vectorize(lanes):
                    row[j, v] = get(x, image, *at, (first + inner + v) // d.source)
            for wide in static(range(d.window[1])):
                tap = register_tensor(op.x.dtype, (lanes,))
                for v in vectorize(lanes):
                    tap[v] = taps[high * d.window[1] + wide, inner + v]
                for out, v in unroll(grid(each, lanes)):
                    value = cast(row[out * along + wide * along_by, v], d.wide)
                    sums[out, v] += cast(tap[v], d.wide) * value

    return add
