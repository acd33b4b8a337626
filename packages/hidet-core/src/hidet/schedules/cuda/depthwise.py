"""Depthwise convolutions on CUDA: each thread sums neighbours of a row, reading it once."""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type"
from dataclasses import dataclass

from hidet.cost import Work
from hidet.lang import (
    attr,
    cast,
    cdiv,
    register_tensor,
    script,
    script_module,
    static,
    unroll,
    vectorize,
)
from hidet.lang.cuda import blockIdx, threadIdx
from hidet.lang.memory import get
from hidet.ops.conv import Conv
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.contraction import known
from hidet.schedules.depthwise import Depthwise, is_depthwise
from hidet.schedules.space import choice
from hidet.target import Target

LONGEST_ROW = 64
"""Elements of x that a thread keeps in registers at most."""


@dataclass(frozen=True)
class Neighbours:
    """How many neighbours a thread sums, and how many threads share a channel in a block."""

    each: int = choice(4, 2, 1, 8)
    threads: int = choice(128, 64, 32, 256)

    def reach(self, op: Conv) -> int:
        """Elements of a row of x that a thread reads."""
        window = Depthwise(op).window[1]
        return (self.each - 1) * op.stride[1] + (window - 1) * op.dilation[1] + 1

    def fits(self, op: Conv, target: Target) -> bool:
        """Whether a row of x has registers."""
        return self.reach(op) <= LONGEST_ROW

    def work(self, op: Conv, target: Target) -> Work:
        """Whole threads; each row of the window is a wait for memory, and loads cost as sums do."""
        d = Depthwise(op)
        parts = known(d.out[0]) * -(-known(d.out[1]) // self.each)
        blocks = known(d.planes) * -(-parts // self.threads)
        sums = len(d.taps) * self.each + 4 * d.window[0] * self.reach(op) + 20
        flops = 2.0 * blocks * self.threads * sums
        return Work(*d.nbytes, flops, "float32", blocks, self.threads, rounds=2)


@schedule_for(
    Conv, target="cuda", space=Neighbours,
    when=lambda op, target: not op.channels_last and is_depthwise(op) and op.x.dtype.is_float,
)  # fmt: skip
def depthwise_neighbours(op: Conv, target: Target, point: Neighbours) -> Scheduled:
    """A block works on one channel of one image."""
    d, each = Depthwise(op), point.each
    across = cdiv(d.out[1], each)
    (down, along), (down_by, along_by) = op.stride, op.dilation
    (above, _), (before, _) = op.padding
    bias_type = operand_type(op.bias, op.x)

    with script_module():

        @script
        def depthwise(x: op.x, weight: op.weight, bias: bias_type, y: op.infer()) -> None:
            attr.func_name = op.name
            attr.cuda_grid_dim = (d.planes, cdiv(d.out[0] * across, point.threads))
            attr.cuda_block_dim = point.threads
            image, k = blockIdx.x // d.channels, blockIdx.x % d.channels
            number = blockIdx.y * point.threads + threadIdx.x
            i, left = number // across, number % across * each
            if i < d.out[0]:
                sums = register_tensor(d.wide, (each,), init=0.0)
                row = register_tensor(d.wide, (point.reach(op),))
                for high in unroll(d.window[0]):
                    for j in unroll(point.reach(op)):
                        at = (i * down + high * down_by - above, left * along + j - before)
                        row[j] = cast(x.get(image, k // d.source, *at), d.wide)
                    for wide in static(range(d.window[1])):
                        tap = cast(weight.get(k, 0, high, wide), d.wide)
                        for v in unroll(each):
                            sums[v] += tap * row[v * along + wide * along_by]
                for lane in vectorize(each):
                    value = sums[lane]
                    if op.bias is not None:
                        value += cast(get(bias, k), d.wide)
                    y.put(image, k, i, left + lane, cast(value, op.x.dtype))

    return Scheduled(assemble(op.name, [depthwise], op.operand_labels(), ["y"]), point)
