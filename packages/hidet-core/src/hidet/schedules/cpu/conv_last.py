"""Convolutions on the CPU with channels last: a padded copy of x, read pixel by pixel.

A tile of sums is some pixels of the result by vectors of output channels. Each element of x is
spread over the lanes and meets a row of the packed weight; in the copy it is found without
conditions. Few channels lie in planes there, so that rows of an image are copied whole. An element
is a group of two channels where those are multiplied at once (`conv_last_layout.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any

from hidet.compute import accumulator
from hidet.lang import (
    Global,
    ScriptFunction,
    address,
    attr,
    cast,
    load,
    minimum,
    parallel,
    prefetch,
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
from hidet.schedules.cpu.conv_last_layout import TOGETHER, Pixels, PixelTile
from hidet.schedules.cpu.conv_rows import is_read_in_rows
from hidet.schedules.cpu.conv_rows_layout import Tile
from hidet.schedules.space import points
from hidet.schedules.typical import estimated
from hidet.target import Target
from hidet.types import TensorType

TURNED = 333
"""Multiply-adds in which they gain what it takes to write an element in another order; an
estimate."""
MOVED = 64.0
"""Operations that it takes to write one in another order; an estimate."""


def is_of_pixels(op: Conv) -> bool:
    """Whether it is of floats in up to three dimensions of known sizes, in which channels meet."""
    if len(op.stride) > 3 or not op.x.dtype.is_float or not has_channels(op):
        return False
    sizes = (*op.weight.shape, *op.spatial())
    return all(isinstance(size, int) for size in sizes) and isinstance(op.each, int)


def gains(op: Conv, target: Target) -> bool:
    """Whether half a vector of output channels or more is in a group."""
    if not is_of_pixels(op):
        return False
    lanes = target.vector_bytes // accumulator(op.x.dtype).nbytes
    written: Any = op.weight.shape[0]
    return bool(2 * (written // op.groups) >= lanes)


def gains_alone(op: Conv, target: Target) -> bool:
    """Whether so much is computed of each element that its image may be turned for it: images are
    copied for windows anyway, but rows of some have windows where they lie."""
    if not gains(op, target):
        return False
    each: Any = op.each
    written: Any = op.weight.shape[0]
    window: Any = op.window
    if prod(window) == 1:
        return bool(each * written >= TURNED * (each * op.groups + written))
    if not is_read_in_rows(op, target):
        return True
    moved = sum(estimated(size, op.x.shape[0]) for size in map(elements, (op.x, op.infer())))
    turned = least_seconds(with_channels_last(op), PixelTile, target)
    return turned + MOVED * moved / target.peak_flops("float32") < least_seconds(op, Tile, target)


def elements(of: TensorType) -> Any:
    """How many a tensor has."""
    return prod(of.shape)


def with_channels_last(op: Conv) -> Conv:
    """The same convolution of an image and a weight whose channels are last."""

    def turned(of: TensorType) -> TensorType:
        first, channels, *places = of.shape
        return of.with_(shape=(first, *places, channels))

    return replace(op, x=turned(op.x), weight=turned(op.weight), channels_last=True)


def least_seconds(op: Conv, space: Any, target: Target) -> float:
    """The time of one core's arithmetic at the best point of a space."""

    def found() -> Iterator[float]:
        for point in points(space):
            if point.fits(op, target):
                work = point.work(op, target)
                yield work.flops / target.peak_flops(work.dtype)

    return min(found())


@schedule_for(
    Conv, target="cpu", space=PixelTile,
    when=lambda op, target: op.channels_last and is_of_pixels(op),
    channels_last=gains_alone, channels_last_among=gains,
)  # fmt: skip
def conv_last(op: Conv, target: Target, point: PixelTile) -> Scheduled:
    """The copy, then tiles of pixels by channels over the threads."""
    p = Pixels(op, point, target)
    bias_type, panels_each = operand_type(op.bias, op.x), p.panels_each

    with script_module():
        copy_line, multiply, write = copying(p), multiplying(p), writing(p)

        @script(
            x=op.x, weight=op.weight, bias=bias_type, panels=p.panel_type, copy=p.copy_type,
            y=op.infer(),
        )  # fmt: skip
        def conv(
            x: Global, weight: Global, bias: Global, panels: Global, copy: Global, y: Global,
        ) -> None:  # fmt: skip
            attr.func_kind = "cpu_kernel"
            attr.func_name = op.name
            for number in parallel(p.images * p.copied[0] * p.copied[1]):
                above = number // p.copied[1]
                copy_line(x, copy, above // p.copied[0], above % p.copied[0], number % p.copied[1])
            for number in parallel(p.images * p.out[0] * op.groups * p.runs * panels_each):
                stack = number // (p.runs * panels_each)
                rest = number % (p.runs * panels_each)
                run = rest // panels_each if p.weights_stay else rest % p.runs
                part = rest % panels_each if p.weights_stay else rest // p.runs
                slab, group, first = stack // op.groups, stack % op.groups, run * TOGETHER
                image, depth = slab // p.out[0], slab % p.out[0]
                count = min(TOGETHER, p.down * p.across - first)
                zero = None if p.is_one_stretch else 0
                done = register_tensor(p.type, (TOGETHER, p.high * p.wide, p.width), init=zero)
                panel = group * panels_each + part
                multiply(copy, panels, done, image, depth, group, panel, first, count)
                for iteration in range(count):
                    corner = p.corner(depth, first + iteration)
                    write(bias, done, iteration, y, image, group, part * p.width, corner)

    names = op.operand_labels()
    kernels = [packing(p), conv]
    return Scheduled(assemble(op.name, kernels, names, ["y"], ["panels", "copy"]), point)


def packing(p: Pixels) -> ScriptFunction:
    """The kernel that puts weights in the order in which tiles read them."""
    op, lanes = p.op, p.elements.lanes

    with script_module():

        @script(weight=op.weight, panels=p.panel_type)
        def pack(weight: Global, panels: Global) -> None:
            attr.func_kind = "cpu_kernel"
            attr.func_name = f"{op.name}_pack"
            for panel in parallel(p.panel_count):
                group, left = panel // p.panels_each, panel % p.panels_each * p.width
                for start in range(0, p.depth, p.part):
                    for tap in range(p.taps):
                        at = p.place(*p.position(tap))
                        for iteration in range(minimum(p.part, p.depth - start)):
                            for lane in range(p.width):
                                for each in static(range(p.group)):
                                    found = cast(0.0, lanes)
                                    if left + lane < p.outputs:
                                        k = group * p.outputs + left + lane
                                        channel = (start + iteration) * p.group + each
                                        found = cast(get(weight, k, *at, channel), lanes)
                                    row = p.row(start, tap, iteration)
                                    panels[panel, row, lane * p.group + each] = found

    return pack


def copying(p: Pixels) -> ScriptFunction:
    """A part of a kernel: (x, copy, image, depth, line). A line of the copy, zero beyond x."""
    whole = p.pixel_groups * p.group == p.channels

    @script
    def copy_line(x, copy, image, depth, line):  # type: ignore[no-untyped-def]
        if p.in_planes:
            for number in static(range(p.pixel_groups)):
                for column in vectorize(p.copied[2]):
                    for each in static(range(p.group)):
                        found = p.copied_element(x, image, (depth, line, column), number, each)
                        copy[image, number, depth, line, column * p.group + each] = found
        else:
            for column in range(p.copied[2]):
                if whole:
                    for c in vectorize(p.channels):
                        found = get(x, image, *p.read((depth, line, column)), c)
                        copy[image, depth, line, column, c] = cast(found, p.elements.rows)
                else:
                    for number in vectorize(p.pixel_groups):
                        for each in static(range(p.group)):
                            found = p.copied_element(x, image, (depth, line, column), number, each)
                            copy[image, depth, line, column, number * p.group + each] = found

    return copy_line


def multiplying(p: Pixels) -> ScriptFunction:
    """A part of a kernel: (copy, panels, done, image, depth, group, panel, first, count). The
    sums of `count` tiles from `first` on: a stretch of the weight meets all while it is near."""
    add_stretch = adding_stretch(p)
    own = [(i, v * p.lanes) for i in range(p.high * p.wide) for v in p.vectors]

    @script
    def multiply(copy, panels, done, image, depth, group, panel, first, count):  # type: ignore[no-untyped-def]
        for start in range(0, p.depth, p.part):
            for iteration in range(count):
                sums = register_tensor(p.type, (p.high * p.wide, p.width), init=0)
                corner = p.corner(depth, first + iteration)
                add_stretch(copy, panels, sums, image, group, panel, corner, start, iteration)
                # Apart from the tile: sums stay in registers while every index is a constant.
                for place in static(own):
                    found = load(sums, *place, lanes=p.lanes)
                    before = 0 if p.is_one_stretch else load(done, iteration, *place, lanes=p.lanes)
                    store(done, iteration, *place, found if p.is_one_stretch else before + found)

    return multiply


def adding_stretch(p: Pixels) -> ScriptFunction:
    """A part of a kernel: adds the products of some groups of channels, at the window positions
    that read x, to tile number `tile` of those that meet a stretch of the weight. The innermost
    loop is the one whose elements lie side by side in the copy: of planes it is so short that all
    window positions are taken, in loops of known lengths."""
    add = adding(p)
    deep, high, wide = p.window

    @script
    def add_stretch(copy, panels, sums, image, group, panel, corner, start, tile):  # type: ignore[no-untyped-def]
        if p.in_planes:
            for c in range(p.depth):
                for d in range(deep):
                    for i in range(high):
                        for j in range(wide):
                            add(copy, panels, sums, image, group, panel, corner, (d, i, j), 0, c)
        else:
            above, below = p.window_positions(0, corner[0], 1)
            top, bottom = p.window_positions(1, corner[1], p.high)
            for d in range(above, below):
                for i in range(top, bottom):
                    for j in range(wide):
                        tap = (d * high + i) * wide + j
                        for c in range(minimum(p.part, p.depth - start)):
                            at, ahead = (d, i, j), p.ahead(start, tap, c, tile)
                            prefetch(address(panels, panel, *ahead), "L1")
                            add(copy, panels, sums, image, group, panel, corner, at, start, c)

    return add_stretch


def adding(p: Pixels) -> ScriptFunction:
    """A part of a kernel: adds the products of a group of channels at a window position to a
    tile."""
    lanes = p.lanes
    _, high, wide = p.window

    @script
    def add(copy, panels, sums, image, group, panel, corner, position, start, iteration):  # type: ignore[no-untyped-def]
        depth, top, left = corner
        d, i, j = position
        number = p.row(start, (d * high + i) * wide + j, iteration)
        row = [p.weight_groups(panels, panel, number, v) for v in p.vectors]
        for at in static(range(p.high * p.wide)):
            pixel = p.tap((depth, top + at // p.wide, left + at % p.wide), (d, i, j))
            each = p.pixel_group(copy, image, pixel, group * p.depth + start + iteration)
            for v in static(p.vectors):
                kept = load(sums, at, v * lanes, lanes=lanes)
                store(sums, at, v * lanes, p.added(kept, each, row[v]))

    return add


def writing(p: Pixels) -> ScriptFunction:
    """A part of a kernel: (bias, done, turn, y, image, group, first, corner). The pixels of a
    tile, whose channels from `first` on are there."""
    op = p.op

    @script
    def write(bias, done, iteration, y, image, group, first, corner):  # type: ignore[no-untyped-def]
        depth, top, left = corner
        for i in range(p.high):
            for j in range(p.wide):
                for lane in vectorize(p.width):
                    value = done[iteration, i * p.wide + j, lane]
                    k = group * p.outputs + first + lane
                    if op.bias is not None:
                        value += cast(get(bias, k), p.type)
                    if first + lane < p.outputs:
                        y.put(image, *p.place(depth, top + i, left + j), k, cast(value, op.result))

    return write
