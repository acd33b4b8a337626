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
    attr,
    cast,
    cdiv,
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
from hidet.target import Target

ACCESS_BYTES = 16
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
    (down, along), (down_by, along_by) = op.stride, op.dilation
    (above, _), (before, _) = op.padding
    count, reach, narrow = len(d.taps), point.reach(op), op.x.dtype
    bias_type = operand_type(op.bias, op.x)

    with script_module():

        @script
        def depthwise(x: op.x, weight: op.weight, bias: bias_type, y: op.infer()) -> None:
            attr.func_name = op.name
            attr.cuda_grid_dim = (
                cdiv(d.images * d.out[0] * columns, rows), cdiv(d.channels, chunk)
            )
            attr.cuda_block_dim = point.threads
            first = blockIdx.y * chunk
            taps = shared_tensor(narrow, (count, chunk))
            for turn in unroll(cdiv(count * chunk, point.threads)):
                number = turn * point.threads + threadIdx.x
                if number < count * chunk:
                    k, tap = number // count, number % count
                    high, wide = tap // d.window[1], tap % d.window[1]
                    taps[tap, k] = weight.get(first + k, high, wide, 0)
            syncthreads()
            place = blockIdx.x * rows + threadIdx.x // point.across
            inner = threadIdx.x % point.across * lanes
            image, i = place // columns // d.out[0], place // columns % d.out[0]
            left = place % columns * each
            sums = register_tensor(d.wide, (each, lanes), init=0.0)
            row = register_tensor(narrow, (reach, lanes))
            for high in unroll(d.window[0]):
                for j in unroll(reach):
                    at = (i * down + high * down_by - above, left * along + j - before)
                    for v in vectorize(lanes):
                        row[j, v] = x.get(image, *at, (first + inner + v) // d.source)
                for wide in static(range(d.window[1])):
                    tap = register_tensor(narrow, (lanes,))
                    for v in vectorize(lanes):
                        tap[v] = taps[high * d.window[1] + wide, inner + v]
                    for out in unroll(each):
                        for v in unroll(lanes):
                            value = cast(row[out * along + wide * along_by, v], d.wide)
                            sums[out, v] += cast(tap[v], d.wide) * value
            for out in unroll(each):
                for v in vectorize(lanes):
                    value = sums[out, v]
                    if op.bias is not None:
                        value += cast(get(bias, first + inner + v), d.wide)
                    y.put(image, i, left + out, first + inner + v, cast(value, narrow))

    return Scheduled(assemble(op.name, [depthwise], op.operand_labels(), ["y"]), point)
