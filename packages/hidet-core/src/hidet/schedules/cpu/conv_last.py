"""Convolutions on the CPU with channels last: a padded copy of x, read pixel by pixel.

A tile of sums is some pixels of the result by vectors of output channels. Each element of x is
spread over the lanes and meets a row of the packed weight; in the copy it is found without
conditions. Few channels lie in planes there, so that rows of an image are copied whole.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type, index"
from dataclasses import dataclass
from math import prod
from typing import Any

from hidet.compute import accumulator
from hidet.cost import Work
from hidet.lang import (
    ScriptFunction,
    attr,
    cast,
    cdiv,
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
from hidet.ops.conv import Conv
from hidet.schedules.assemble import assemble, operand_type
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.convolution import has_channels
from hidet.schedules.cpu.panel_layout import STRETCH
from hidet.schedules.space import choice
from hidet.schedules.typical import estimated
from hidet.target import Target

TURNED = 333
"""Multiply-adds in which they gain what it takes to write an element in another order; an
estimate."""
COPIED = 8.0
"""Operations that an element of the copy costs; an estimate."""
FEW = 4
"""Channels up to which the copy has them in planes."""
CONFLICT = 512
"""Elements: pixels of a tile a multiple of them apart compete for the same sets of the cache."""
APART = 16
"""Elements between pixels that would."""
TOGETHER = 4
"""Tiles of pixels that meet a stretch of the weight one after the other."""
LEAST = 16
"""Channels at least that are summed between two window positions."""


@dataclass(frozen=True)
class PixelTile:
    """The tile of sums that a thread keeps in registers: pixels by vectors of output channels."""

    pixels: int = choice(14, 12, 6, 28, 8, 4, 2)
    vectors: int = choice(2, 4, 1, 3)

    def fits(self, op: Conv, target: Target) -> bool:
        """Whether sums, a row of the weight and a spread element have registers."""
        return self.pixels * self.vectors + self.vectors + 1 <= target.max_registers_per_thread

    def work(self, op: Conv, target: Target) -> Work:
        """Whole tiles, two loads at most for each multiply-add, and the copy."""
        p = Pixels(op, self, target)
        sums = p.high * p.wide * self.vectors
        busy = min(1.0, sums / 10) * min(1.0, 1.5 * sums / (p.high * p.wide + self.vectors))
        tiles = estimated(p.images, p.images) * p.out[0] * p.down * p.across * p.panel_count
        flops = 2.0 * tiles * sums * p.counted * p.each * p.taps / busy
        flops += COPIED * estimated(p.images, p.images) * prod(p.copied) * p.channels
        return Work(0, 0, flops, p.type.name, tiles, 1)


class Pixels:
    """Sizes of tiles and of the copy; places have a depth, a line and a column in any case."""

    def __init__(self, op: Conv, tile: PixelTile, target: Target) -> None:
        self.op, self.type = op, accumulator(op.x.dtype)
        self.each, self.channels = int(op.each), int(op.each) * op.groups
        self.outputs = int(op.weight.shape[0]) // op.groups
        most = max(2, target.vector_bytes // self.type.nbytes)
        self.lanes = max(2, min(most, 1 << (self.outputs - 1).bit_length()))
        """Those that few output channels fill: machines multiply short vectors two at a time."""
        self.counted = max(self.lanes, most // 2)
        self.vectors, self.width = range(tile.vectors), self.lanes * tile.vectors
        self.panels_each = cdiv(self.outputs, self.width)
        self.panel_count = op.groups * self.panels_each
        line = (1,) * (3 - len(op.stride))
        self.images = op.x.shape[0]
        self.out = tuple(map(int, (*line, *op.spatial())))
        self.window = tuple(map(int, (*line, *op.window)))
        single = tuple(size == 1 for size in self.window)
        stride, self.dilation = (*line, *op.stride), (*line, *op.dilation)
        # Of windows of one place the copy has what they read alone.
        self.taken = tuple(step if one else 1 for step, one in zip(stride, single, strict=True))
        self.stride = tuple(1 if one else step for step, one in zip(stride, single, strict=True))
        self.before = tuple(pair[0] for pair in ((0, 0),) * len(line) + op.padding)
        self.taps = prod(self.window)
        # Tiles of almost one width: a row is cut evenly, and short rows are taken together.
        depth, lines, columns = self.out
        self.wide = cdiv(columns, cdiv(columns, tile.pixels))
        self.high = max(1, min(tile.pixels // self.wide, lines))
        self.down, self.across = cdiv(lines, self.high), cdiv(columns, self.wide)
        self.runs = cdiv(self.down * self.across, TOGETHER)
        counts = (depth, self.down * self.high, self.across * self.wide)
        self.copied = tuple(
            (count - 1) * step + (window - 1) * apart + 1
            for count, step, window, apart in zip(
                counts, self.stride, self.window, self.dilation, strict=True
            )
        )
        """Depth, lines and columns of the copy."""
        self.in_planes = self.channels <= FEW
        unlucky = self.channels * self.stride[2] % CONFLICT == 0
        self.pixel = self.channels + (APART if unlucky else 0)
        parts = min(cdiv(self.each * self.taps, STRETCH), cdiv(self.each, LEAST))
        self.part: int = cdiv(self.each, parts)
        """Channels of a stretch: long sums of rounded products lose digits, short ones fewer."""
        self.weights_stay = self.outputs * self.taps <= prod(self.copied)
        """Whether all weights meet a tile of pixels before the next one, or all pixels those of a
        tile of channels: what is smaller stays in the cache."""

    @property
    def is_one_stretch(self) -> bool:
        """Whether all products of a sum are added up at once, so that tiles need not begin at 0."""
        return self.part == self.each

    @property
    def copy_type(self) -> Any:
        """The type of the copy."""
        inner = (self.channels, *self.copied) if self.in_planes else (*self.copied, self.pixel)
        return self.type[self.images, *inner]

    @property
    def panel_type(self) -> Any:
        """The type of the packed weight."""
        return self.type[self.panel_count, self.taps * self.each, self.width]

    def pixel_at(self, image: Any, place: tuple[Any, ...], channel: Any) -> tuple[Any, ...]:
        """Where an element lies in the copy."""
        return (image, channel, *place) if self.in_planes else (image, *place, channel)

    def row(self, start: Any, tap: Any, turn: Any) -> Any:
        """Where a panel has channel `start + turn` of a window position: in the order of reading,
        stretch by stretch."""
        count = minimum(self.part, self.each - start)
        return start * self.taps + tap * count + turn

    def corner(self, depth: Any, tile: Any) -> tuple[Any, Any, Any]:
        """The first pixel of a tile of a depth of the result."""
        return depth, tile // self.across * self.high, tile % self.across * self.wide

    def position(self, tap: Any) -> tuple[Any, Any, Any]:
        """A window position by its number."""
        _, high, wide = self.window
        return tap // (high * wide), tap // wide % high, tap % wide

    def place(self, depth: Any, line: Any, column: Any) -> tuple[Any, ...]:
        """A place as x, the weight and the result have it."""
        return (depth, line, column)[3 - len(self.op.stride) :]

    def read(self, place: tuple[Any, ...]) -> tuple[Any, ...]:
        """The place of x that one of the copy is of."""
        found = (
            at * step - before
            for at, step, before in zip(place, self.taken, self.before, strict=True)
        )
        return self.place(*found)

    def tap(self, place: tuple[Any, ...], window: tuple[Any, ...]) -> tuple[Any, ...]:
        """The place of the copy that a window position of a place of the result reads."""
        return tuple(
            at * step + by * apart
            for at, step, by, apart in zip(place, self.stride, window, self.dilation, strict=True)
        )


def is_of_pixels(op: Conv) -> bool:
    """Whether it is of floats in up to three dimensions of known sizes, in which channels meet."""
    if len(op.stride) > 3 or not op.x.dtype.is_float or not has_channels(op):
        return False
    sizes = (*op.weight.shape, *op.spatial())
    return all(isinstance(size, int) for size in sizes) and isinstance(op.each, int)


def gains(op: Conv, target: Target) -> bool:
    """Whether it is computed in its own type, and half a vector of output channels or more is in a
    group."""
    if op.x.dtype is not accumulator(op.x.dtype) or not is_of_pixels(op):
        return False
    lanes = target.vector_bytes // op.x.dtype.nbytes
    return 2 * (int(op.weight.shape[0]) // op.groups) >= lanes


def gains_alone(op: Conv, target: Target) -> bool:
    """Whether so much is computed of each element that its image may be turned for it: images are
    copied for windows anyway."""
    if not gains(op, target):
        return False
    if prod(map(int, op.window)) > 1:
        return True
    read, written = int(op.each) * op.groups, int(op.weight.shape[0])
    return int(op.each) * written >= TURNED * (read + written)


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

        @script
        def conv(
            x: op.x, weight: op.weight, bias: bias_type,
            panels: p.panel_type, copy: p.copy_type, y: op.infer(),
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
                for turn in range(count):
                    corner = p.corner(depth, first + turn)
                    write(bias, done, turn, y, image, group, part * p.width, corner)

    names = op.operand_labels()
    kernels = [packing(p), conv]
    return Scheduled(assemble(op.name, kernels, names, ["y"], ["panels", "copy"]), point)


def packing(p: Pixels) -> ScriptFunction:
    """The kernel that puts weights in the order in which tiles read them."""
    op, each = p.op, p.each

    with script_module():

        @script
        def pack(weight: op.weight, panels: p.panel_type) -> None:
            attr.func_kind = "cpu_kernel"
            attr.func_name = f"{op.name}_pack"
            for panel in parallel(p.panel_count):
                group, left = panel // p.panels_each, panel % p.panels_each * p.width
                for start in range(0, each, p.part):
                    for tap in range(p.taps):
                        at = p.place(*p.position(tap))
                        for turn in range(minimum(p.part, each - start)):
                            for lane in range(p.width):
                                found = cast(0.0, p.type)
                                if left + lane < p.outputs:
                                    k = group * p.outputs + left + lane
                                    found = cast(get(weight, k, *at, start + turn), p.type)
                                panels[panel, p.row(start, tap, turn), lane] = found

    return pack


def copying(p: Pixels) -> ScriptFunction:
    """A part of a kernel: (x, copy, image, depth, line). A line of the copy, zero beyond x."""

    @script
    def copy_line(x, copy, image, depth, line):  # type: ignore[no-untyped-def]
        if p.in_planes:
            for c in static(range(p.channels)):
                for column in vectorize(p.copied[2]):
                    found = get(x, image, *p.read((depth, line, column)), c)
                    copy[image, c, depth, line, column] = cast(found, p.type)
        else:
            for column in range(p.copied[2]):
                for c in vectorize(p.channels):
                    found = get(x, image, *p.read((depth, line, column)), c)
                    copy[image, depth, line, column, c] = cast(found, p.type)

    return copy_line


def multiplying(p: Pixels) -> ScriptFunction:
    """A part of a kernel: (copy, panels, done, image, depth, group, panel, first, count). The
    sums of `count` tiles from `first` on: a stretch of the weight meets all while it is near."""
    add_stretch = adding_stretch(p)
    own = [(i, v * p.lanes) for i in range(p.high * p.wide) for v in p.vectors]

    @script
    def multiply(copy, panels, done, image, depth, group, panel, first, count):  # type: ignore[no-untyped-def]
        for start in range(0, p.each, p.part):
            for turn in range(count):
                sums = register_tensor(p.type, (p.high * p.wide, p.width), init=0)
                corner = p.corner(depth, first + turn)
                add_stretch(copy, panels, sums, image, group, panel, corner, start)
                # Apart from the tile: sums stay in registers while every index is a constant.
                for place in static(own):
                    found = load(sums, *place, lanes=p.lanes)
                    before = 0 if p.is_one_stretch else load(done, turn, *place, lanes=p.lanes)
                    store(done, turn, *place, found if p.is_one_stretch else before + found)

    return multiply


def adding_stretch(p: Pixels) -> ScriptFunction:
    """A part of a kernel: adds the products of some channels, at all window positions, to a tile.
    The innermost loop is the one whose elements lie side by side in the copy."""
    add = adding(p)
    deep, high, wide = p.window

    @script
    def add_stretch(copy, panels, sums, image, group, panel, corner, start):  # type: ignore[no-untyped-def]
        if p.in_planes:
            for c in range(p.each):
                for d in range(deep):
                    for i in range(high):
                        for j in range(wide):
                            add(copy, panels, sums, image, group, panel, corner, (d, i, j), 0, c)
        else:
            for tap in range(deep * high * wide):
                position = p.position(tap)
                for turn in range(minimum(p.part, p.each - start)):
                    add(copy, panels, sums, image, group, panel, corner, position, start, turn)

    return add_stretch


def adding(p: Pixels) -> ScriptFunction:
    """A part of a kernel: adds the products of one channel at one window position to a tile."""
    lanes = p.lanes
    _, high, wide = p.window

    @script
    def add(copy, panels, sums, image, group, panel, corner, position, start, turn):  # type: ignore[no-untyped-def]
        depth, top, left = corner
        d, i, j = position
        row = [
            load(
                panels, panel, p.row(start, (d * high + i) * wide + j, turn), v * lanes, lanes=lanes
            )
            for v in p.vectors
        ]
        for at in static(range(p.high * p.wide)):
            pixel = p.tap((depth, top + at // p.wide, left + at % p.wide), (d, i, j))
            each = copy[p.pixel_at(image, pixel, group * p.each + start + turn)]
            for v in static(p.vectors):
                kept = load(sums, at, v * lanes, lanes=lanes)
                store(sums, at, v * lanes, kept + each * row[v])

    return add


def writing(p: Pixels) -> ScriptFunction:
    """A part of a kernel: (bias, done, turn, y, image, group, first, corner). The pixels of a
    tile, whose channels from `first` on are there."""
    op = p.op

    @script
    def write(bias, done, turn, y, image, group, first, corner):  # type: ignore[no-untyped-def]
        depth, top, left = corner
        for i in range(p.high):
            for j in range(p.wide):
                for lane in vectorize(p.width):
                    value = done[turn, i * p.wide + j, lane]
                    k = group * p.outputs + first + lane
                    if op.bias is not None:
                        value += cast(get(bias, k), p.type)
                    if first + lane < p.outputs:
                        y.put(image, *p.place(depth, top + i, left + j), k, cast(value, op.result))

    return write
