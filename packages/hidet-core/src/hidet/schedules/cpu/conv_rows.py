"""Convolutions on the CPU without windows in memory: a padded copy of x, read where it lies.

A window position is a shift of the positions of a slab (`conv_rows_layout.py`): each load is one
vector of neighbours, which meets elements of the weight that are spread over the lanes.
"""

from __future__ import annotations

from math import prod
from typing import Any

from hidet.ir.kernel import Module
from hidet.lang import (
    Global,
    ScriptFunction,
    attr,
    cast,
    load,
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
from hidet.schedules.convolution import has_channels
from hidet.schedules.cpu.conv_rows_layout import Rows, Tile
from hidet.schedules.typical import estimated
from hidet.target import Target


def is_read_in_rows(op: Conv, target: Target) -> bool:
    """Whether it is in one or two dimensions, of floats, with windows of several positions."""
    if len(op.stride) > 2 or op.channels_last or not op.x.dtype.is_float or not has_channels(op):
        return False
    if not all(isinstance(size, int) for size in (*op.window, *op.spatial(), *op.weight.shape)):
        return False
    return prod(map(estimated, op.window)) > 1


@schedule_for(Conv, target="cpu", space=Tile, when=is_read_in_rows)
def conv_rows(op: Conv, target: Target, point: Tile) -> Scheduled:
    """The copy, then slabs of tiles of channels by positions over the threads."""
    return Scheduled(in_slabs(Rows(op, point, target)), point)


def in_slabs(r: Rows) -> Module:
    """The kernels of a convolution by slabs, which reads a copy of x, or x itself."""
    op, row_tiles, slabs = r.op, r.row_tiles, r.slabs
    bias_type = operand_type(op.bias, op.x)

    with script_module():
        copy_line, multiply, write = copying(r), multiplying(r), writing(r)

        @script(
            x=op.x, weight=op.weight, bias=bias_type, panels=r.panel_type, copy=r.copy_type,
            y=op.infer(),
        )  # fmt: skip
        def conv(
            x: Global, weight: Global, bias: Global, panels: Global, copy: Global, y: Global,
        ) -> None:  # fmt: skip
            attr.func_kind = "cpu_kernel"
            attr.func_name = op.name
            if r.is_copied:
                for number in parallel(r.planes * r.lines):
                    copy_line(x, copy, number // r.lines, number % r.lines)
            source = copy if r.is_copied else x
            for number in parallel(r.stacks * slabs * row_tiles):
                stack = number // (slabs * row_tiles)
                rest = number % (slabs * row_tiles)
                slab = rest // row_tiles if r.weights_stay else rest % slabs
                row_tile = rest % row_tiles if r.weights_stay else rest // slabs
                top, left = slab // r.across * r.high, slab % r.across * r.broad
                rows = minimum(r.high, r.out[0] - top)
                zero = None if r.is_one_stretch else 0
                done = register_tensor(r.wide, (r.height, r.tiles_of(r.high) * r.width), init=zero)
                panel = stack % op.groups * row_tiles + row_tile
                multiply(source, panels, done, stack * r.each, panel, r.begin(top, left), rows)
                write(bias, done, y, stack, row_tile * r.height, top, left, rows)

    names = op.operand_labels()
    return assemble(op.name, [packing(r), conv], names, ["y"], ["panels", "copy"])


def packing(r: Rows) -> ScriptFunction:
    """The kernel that puts weights in the order in which tiles read them."""
    op, count = r.op, r.taps
    each: Any = r.each

    with script_module():

        @script(weight=op.weight, panels=r.panel_type)
        def pack(weight: Global, panels: Global) -> None:
            attr.func_kind = "cpu_kernel"
            attr.func_name = f"{op.name}_pack"
            for panel in parallel(op.groups * r.row_tiles):
                group, top = panel // r.row_tiles, panel % r.row_tiles * r.height
                for c in range(each):
                    for tap in range(count):
                        at = r.window_position(tap)
                        for i in range(r.height):
                            found = cast(0.0, r.wide)
                            if top + i < r.channels:
                                k = group * r.channels + top + i
                                found = cast(get(weight, k, c, *at), r.wide)
                            panels[panel, c * count + tap, i] = found

    return pack


def copying(r: Rows) -> ScriptFunction:
    """A part of a kernel: (x, copy, plane, line). A line of all phases of a plane, zero beyond
    x."""
    op = r.op

    @script
    def copy_line(x, copy, plane, line):  # type: ignore[no-untyped-def]
        image, channel = plane // op.x.shape[1], plane % op.x.shape[1]
        for down in range(r.phases_down):
            for across in static(range(r.phases_across)):
                for j in vectorize(r.line):
                    at = (
                        line * r.stride[0] + down - r.before[0],
                        j * r.stride[1] + across - r.before[1],
                    )
                    found = get(x, image, channel, *r.position(*at))
                    phase = down * r.phases_across + across
                    copy[plane, phase, line * r.line + j] = cast(found, r.wide)

    return copy_line


def multiplying(r: Rows) -> ScriptFunction:
    """A part of a kernel: (source, panels, done, plane, panel, first, rows). The sums of a slab of
    so many rows from position `first` on: a stretch of the weight meets all while it is near."""
    lanes, vectors = r.lanes, r.vectors
    channels: Any = r.each
    own = [(i, v * lanes) for i in range(r.height) for v in vectors]
    add = adding(r)

    @script
    def multiply(source, panels, done, plane, panel, first, rows):  # type: ignore[no-untyped-def]
        for start in range(0, channels, r.step):
            for tile in range(r.tiles_of(rows)):
                sums = register_tensor(r.wide, (r.height, r.width), init=0)
                for iteration in range(minimum(r.step, channels - start)):
                    for i in range(r.window[0]):
                        for j in range(r.window[1]):
                            position = first + tile * r.width
                            add(
                                source,
                                panels,
                                sums,
                                plane,
                                panel,
                                start + iteration,
                                position,
                                (i, j),
                            )
                # Apart from the tile: sums stay in registers only while every index is a constant.
                for i, left in static(own):
                    found = load(sums, i, left, lanes=lanes)
                    at = (i, tile * r.width + left)
                    before = 0 if r.is_one_stretch else load(done, *at, lanes=lanes)
                    store(done, *at, found if r.is_one_stretch else before + found)

    return multiply


def adding(r: Rows) -> ScriptFunction:
    """A part of a kernel: adds the products of a channel at a window position to a tile."""
    lanes, vectors = r.lanes, r.vectors

    @script
    def add(source, panels, sums, plane, panel, c, position, window):  # type: ignore[no-untyped-def]
        i, j = window
        phase, shift = r.tap(i, j)
        row = [r.vector(source, plane + c, phase, position + shift + v * lanes) for v in vectors]
        for height in static(range(r.height)):
            each = panels[panel, (c * r.window[0] + i) * r.window[1] + j, height]
            for v in static(vectors):
                kept = load(sums, height, v * lanes, lanes=lanes)
                store(sums, height, v * lanes, kept + each * row[v])

    return add


def writing(r: Rows) -> ScriptFunction:
    """A part of a kernel: (bias, done, y, stack, first, top, left, rows). So many rows of a slab,
    of the channels from `first` on that are there."""
    op = r.op

    @script
    def write(bias, done, y, stack, first, top, left, rows):  # type: ignore[no-untyped-def]
        computed = r.begin(top, left)
        image, group = stack // op.groups, stack % op.groups
        for i in range(minimum(r.height, r.channels - first)):
            k = group * r.channels + first + i
            for iteration in range(rows):
                for j in vectorize(minimum(r.broad, r.out[1] - left)):
                    value = done[i, (top + iteration) * r.line + left - computed + j]
                    if op.bias is not None:
                        value += cast(get(bias, k), r.wide)
                    # No variable for the position: what divides it is simplified.
                    y.put(image, k, *r.position(top + iteration, left + j), cast(value, op.result))

    return write
