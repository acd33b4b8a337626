"""Depthwise convolutions on the CPU: a padded copy of each channel, then vectors of a row.

Columns that a stride apart belong to one window position are side by side in the copy, so that
every load of a window is one vector without conditions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hidet.cost import Work
from hidet.lang import (
    Global,
    ScriptFunction,
    attr,
    cast,
    cdiv,
    load,
    parallel,
    register_tensor,
    script,
    script_module,
    static,
    store,
    vectorize,
)
from hidet.lang.memory import get
from hidet.ops.windows.conv import Conv
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.depthwise import Depthwise, is_depthwise
from hidet.schedules.space import choice
from hidet.schedules.typical import estimated
from hidet.target import Target

MOST_TAPS = 16
"""Taps up to which the automatic schedule writes a window out, with its sum in a register."""
LONG_ROW = 32
"""Elements of a row from which that is faster than a copy, or than turning the image."""


def is_left_to_automatic(op: Conv) -> bool:
    """Whether the automatic schedule reads x where it lies, in vectors along its rows."""
    d = Depthwise(op)
    long = isinstance(d.out[1], int) and d.out[1] >= LONG_ROW
    return long and len(d.taps) <= MOST_TAPS and op.x.dtype is d.wide


@dataclass(frozen=True)
class RowVectors:
    """How many vectors of a row a thread sums at once."""

    vectors: int = choice(2, 1, 4)

    def fits(self, op: Conv, target: Target) -> bool:
        """Whether sums and loads have registers."""
        return 2 * self.vectors + 1 <= target.max_registers_per_thread

    def work(self, op: Conv, target: Target) -> Work:
        """Whole vectors; few of them wait for one another."""
        d = Depthwise(op)
        lanes = max(2, target.vector_bytes // d.wide.nbytes)
        width = -(-estimated(d.out[1]) // (lanes * self.vectors)) * lanes * self.vectors
        flops = 2.0 * estimated(d.planes) * estimated(d.out[0]) * width * (len(d.taps) + 4)
        return Work(0, 0, flops * (1 + 1 / self.vectors), d.wide.name, estimated(d.planes), 1)


@schedule_for(
    Conv, target="cpu", space=RowVectors,
    when=lambda op, target: (
        not op.channels_last and is_depthwise(op) and op.x.dtype.is_float
        and not is_left_to_automatic(op)
    ),
)  # fmt: skip
def depthwise_rows(op: Conv, target: Target, point: RowVectors) -> Scheduled:
    """Channels over the threads, rows over vectors."""
    d = Depthwise(op)
    lanes = max(2, target.vector_bytes // d.wide.nbytes)
    width = lanes * point.vectors
    (down, across), (down_by, across_by) = op.stride, op.dilation
    (above, _), (before, _) = op.padding
    rows: Any = d.out[0]
    height: Any = (rows - 1) * down + (d.window[0] - 1) * down_by + 1
    phases = min(across, (d.window[1] - 1) * across_by + 1)
    line = cdiv(d.out[1], width) * width + (d.window[1] - 1) * across_by // across
    copy_type = d.wide[d.planes, height, phases, line]
    bias_type = operand_type(op.bias, op.x)

    with script_module():
        row = one_row(d, point.vectors, lanes)

        @script(x=op.x, weight=op.weight, bias=bias_type, copy=copy_type, y=op.infer())
        def depthwise(x: Global, weight: Global, bias: Global, copy: Global, y: Global) -> None:
            attr.func_kind = "cpu_kernel"
            attr.func_name = op.name
            for plane in parallel(d.planes):
                image, k = plane // d.channels, plane % d.channels
                for i in range(height):
                    for phase in static(range(phases)):
                        for j in vectorize(line):
                            at = (i - above, j * across + phase - before)
                            copy[plane, i, phase, j] = cast(
                                x.get(image, k // d.source, *at), d.wide
                            )
                for i in range(rows):
                    for part in range(cdiv(d.out[1], width)):
                        done = register_tensor(d.wide, (width,))
                        row(copy, weight, done, plane, k, i, part * width)
                        for v in vectorize(width):
                            total = done[v]
                            if op.bias is not None:
                                total += cast(get(bias, k), d.wide)
                            y.put(image, k, i, part * width + v, cast(total, op.result))

    names = op.operand_labels()
    return Scheduled(assemble(op.name, [depthwise], names, ["y"], ["copy"]), point)


def one_row(d: Depthwise, vectors: int, lanes: int) -> ScriptFunction:
    """A part of a kernel: the sums of `vectors` vectors of a row of one channel."""
    (down, across), (down_by, across_by) = d.op.stride, d.op.dilation

    @script
    def row(copy, weight, done, plane, k, i, left):  # type: ignore[no-untyped-def]
        sums = register_tensor(d.wide, (vectors * lanes,), init=0)
        for high, wide in static(d.taps):
            tap = cast(get(weight, k, 0, high, wide), d.wide)
            shift = wide * across_by
            for v in static(range(vectors)):
                first = left + shift // across + v * lanes
                at = (plane, i * down + high * down_by, shift % across, first)
                kept = load(sums, v * lanes, lanes=lanes)
                store(sums, v * lanes, kept + tap * load(copy, *at, lanes=lanes))
        for out in static(range(0, vectors * lanes, lanes)):
            store(done, out, load(sums, out, lanes=lanes))

    return row
