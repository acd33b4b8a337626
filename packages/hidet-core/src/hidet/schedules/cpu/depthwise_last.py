"""Depthwise convolutions on the CPU with channels last: vectors of channels, x where it lies.

A row of the result is cut into tiles of pixels, whose accumulators are in registers. Tiles at the
left and right border leave out what lies beyond the image, which is known where the code is made;
rows at the upper and lower border have fewer taps. So nothing is asked where elements are
multiplied.
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
    maximum,
    minimum,
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
from hidet.schedules.cpu.depthwise import is_left_to_automatic, stays_in_planes
from hidet.schedules.depthwise import Depthwise, is_depthwise
from hidet.schedules.space import choice
from hidet.schedules.typical import estimated
from hidet.target import Target


@dataclass(frozen=True)
class RowPixels:
    """How many pixels of a row a thread sums at once."""

    pixels: int = choice(8, 14, 4)

    def fits(self, op: Conv, target: Target) -> bool:
        """Whether accumulators, a tap and a pixel have registers."""
        return self.pixels + 2 <= target.max_registers_per_thread

    def work(self, op: Conv, target: Target) -> Work:
        """Whole vectors; sums of fewer than eight pixels wait for one another."""
        r = Row(op, self, target)
        rows = estimated(r.d.images, r.d.images) * r.out[0]
        flops = 2.0 * rows * r.out[1] * r.parts * r.lanes * (len(r.d.taps) + 2)
        return Work(0, 0, flops * max(1.0, 8 / r.wide), r.d.wide.name, rows, 1)


class Row:
    """How a row of the result is cut."""

    def __init__(self, op: Conv, point: RowPixels, target: Target) -> None:
        self.op, self.d = op, Depthwise(op)
        channels: Any = self.d.channels
        self.channels = int(channels)
        # Vectors are no longer than a pixel; the last one of it overlaps the one before.
        most = max(2, target.vector_bytes // self.d.wide.nbytes)
        self.lanes = min(most, 1 << self.channels.bit_length() - 1)
        self.parts = cdiv(self.channels, self.lanes)
        sizes: Any = op.sizes
        out: Any = op.spatial()
        self.sizes, self.out = tuple(map(int, sizes)), tuple(map(int, out))
        self.across = cdiv(self.out[1], point.pixels)
        self.wide: int = cdiv(self.out[1], self.across)
        self.across = cdiv(self.out[1], self.wide)

    def count(self, tile: int) -> int:
        """The pixels of a tile."""
        return min(self.wide, self.out[1] - tile * self.wide)

    def column(self, left: Any, pixel: int, tap: int) -> Any:
        """The column of x that a tap of a pixel reads."""
        op = self.op
        return (left + pixel) * op.stride[1] + tap * op.dilation[1] - op.padding[1][0]

    def is_inner(self, tile: int) -> bool:
        """Whether a tile is as wide as most, and all its taps are in the image."""
        ends = [
            self.column(tile * self.wide, pixel, tap)
            for pixel in (0, self.wide - 1)
            for tap in (0, self.d.window[1] - 1)
        ]
        inside: bool = min(ends) >= 0 and max(ends) < self.sizes[1]
        return inside and self.count(tile) == self.wide

    @property
    def inner(self) -> range:
        """The tiles of which that is true: neighbours."""
        found = [tile for tile in range(self.across) if self.is_inner(tile)]
        return range(found[0], found[-1] + 1) if found else range(0)


def is_of_rows(op: Conv, target: Target) -> bool:
    """Whether floats' channels are apart, one for one, and all sizes of an image are known."""
    if not (is_depthwise(op) and op.x.dtype.is_float):
        return False
    sizes = (*op.weight.shape, *op.sizes)
    known = all(isinstance(size, int) for size in sizes)
    return known and op.weight.shape[0] == op.groups


@schedule_for(
    Conv, target="cpu", space=RowPixels,
    when=lambda op, target: op.channels_last and is_of_rows(op, target), without_prologue=(0,),
    channels_last=lambda op, target: (
        is_of_rows(op, target) and not (is_left_to_automatic(op) or stays_in_planes(op, target))
    ),
    channels_last_among=is_of_rows,
)  # fmt: skip
def depthwise_last(op: Conv, target: Target, point: RowPixels) -> Scheduled:
    """Rows over the threads, vectors of channels one after the other."""
    r = Row(op, point, target)
    bias_type, panel_type = operand_type(op.bias, op.x), r.d.wide[len(r.d.taps), r.channels]
    (down, _), (down_by, _), (above, _) = op.stride, op.dilation, op.padding[0]
    inner = r.inner

    with script_module():
        pack = packing(r, panel_type)
        middle = a_tile(r, None, r.wide)
        borders = [
            (a_tile(r, tile * r.wide, r.count(tile)), tile * r.wide)
            for tile in range(r.across)
            if tile not in inner
        ]

        @script(x=op.x, weight=op.weight, bias=bias_type, panels=panel_type, y=op.infer())
        def depthwise(x: Global, weight: Global, bias: Global, panels: Global, y: Global) -> None:
            attr.func_kind = "cpu_kernel"
            attr.func_name = op.name
            for number in parallel(r.d.images * r.out[0]):
                image, row = number // r.out[0], number % r.out[0]
                top = row * down - above
                first = maximum(0, cdiv(-top, down_by))
                last = minimum(r.d.window[0], cdiv(r.sizes[0] - top, down_by))
                for part in range(r.parts):
                    for border, left in static(borders):
                        border(x, panels, bias, y, image, row, top, first, last, part, left)
                    for iteration in range(len(inner)):
                        left = (inner.start + iteration) * r.wide
                        middle(x, panels, bias, y, image, row, top, first, last, part, left)

    names = op.operand_labels()
    return Scheduled(assemble(op.name, [pack, depthwise], names, ["y"], ["panels"]), point)


def packing(r: Row, panel_type: Any) -> ScriptFunction:
    """The kernel that puts each tap's numbers side by side."""
    op = r.op

    @script(weight=op.weight, panels=panel_type)
    def pack(weight: Global, panels: Global) -> None:
        attr.func_kind = "cpu_kernel"
        attr.func_name = f"{op.name}_pack"
        for tap in parallel(len(r.d.taps)):
            for c in range(r.channels):
                at = (tap // r.d.window[1], tap % r.d.window[1])
                panels[tap, c] = cast(get(weight, c, *at, 0), r.d.wide)

    return pack


def a_tile(r: Row, border: int | None, count: int) -> ScriptFunction:
    """A part of a kernel: (x, panels, bias, y, image, row, top, first, last, part, left). So many
    pixels of a row, of which `border` is the first where some taps are beyond the image."""
    op, lanes = r.op, r.lanes
    taps = [
        (pixel, j)
        for j in range(r.d.window[1])
        for pixel in range(count)
        if border is None or 0 <= r.column(border, pixel, j) < r.sizes[1]
    ]

    @script
    def tile(x, panels, bias, y, image, row, top, first, last, part, left):  # type: ignore[no-untyped-def]
        c = minimum(part * lanes, r.channels - lanes)
        done = register_tensor(r.d.wide, (count, lanes))
        accumulators = register_tensor(r.d.wide, (count, lanes), init=0)
        for i in range(first, last):
            for pixel, j in static(taps):
                tap = load(panels, i * r.d.window[1] + j, c, lanes=lanes)
                line = top + i * op.dilation[0]
                place = (image, line, r.column(left, pixel, j), c)
                found = cast(load(x, *place, lanes=lanes), r.d.wide)
                kept = load(accumulators, pixel, 0, lanes=lanes)
                store(accumulators, pixel, 0, kept + found * tap)
        for out in static(range(count)):
            store(done, out, 0, load(accumulators, out, 0, lanes=lanes))
        for pixel in range(count):
            for lane in vectorize(lanes):
                value = done[pixel, lane]
                if op.bias is not None:
                    value += cast(get(bias, c + lane), r.d.wide)
                if c + lane >= part * lanes:
                    y.put(image, row, left + pixel, c + lane, cast(value, op.result))

    return tile
