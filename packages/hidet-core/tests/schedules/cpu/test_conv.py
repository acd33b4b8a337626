"""Convolutions on the CPU against numpy, for every vector width and odd sizes; simulated, too."""

import numpy as np
import pytest

from hidet import sim
from hidet.ir.expr import Var
from hidet.ops.windows.conv import Conv
from hidet.schedules.base import candidates, gains_by_channels_last
from hidet.schedules.cpu.conv import (
    ConvRegisters,
    UnpackedRegisters,
    conv_panels,
    conv_unpacked,
    has_channels,
    is_unpacked,
)
from hidet.schedules.cpu.conv_last import is_of_pixels
from hidet.schedules.cpu.conv_patches import PatchRegisters, conv_patches, is_of_patches
from hidet.schedules.cpu.conv_pointwise import (
    Pointwise,
    PointwiseTile,
    conv_pointwise,
    is_pointwise,
)
from hidet.schedules.cpu.conv_rows import conv_rows, is_read_in_rows
from hidet.schedules.cpu.conv_rows_layout import Rows, Tile
from hidet.schedules.cpu.depthwise import RowVectors, depthwise_rows
from hidet.target import Target
from hidet.testing.fused import as_run
from hidet.types import f16, f32, f64, i32

ONE, SAME, NONE = (1, 1), ((1, 1), (1, 1)), ((0, 0), (0, 0))
WIDE, HALF, PLAIN = (Target.parse(text) for text in ("cpu+avx512", "cpu+avx2", "cpu"))
CONVS = [
    *(op for op in Conv.samples() if has_channels(op)),
    Conv(f32[2, 7, 13, 11], f32[33, 7, 3, 3], f32[33], (2, 1), SAME, ONE, 1),
    Conv(f32[1, 6, 9, 9], f32[10, 3, 3, 3], f32[10], ONE, SAME, (2, 1), 2),
    Conv(f32[1, 40, 7, 7], f32[129, 40, 1, 1], None, ONE, ((0, 0), (0, 0)), ONE, 1),
    Conv(f64[1, 3, 9, 9], f64[8, 3, 5, 5], f64[8], (3, 3), ((2, 1), (0, 2)), ONE, 1),
    Conv(f16[3, 5, 1, 1], f16[7, 5, 1, 1], f16[7], ONE, ((0, 0), (0, 0)), ONE, 1),
]
APART = [
    Conv(f32[2, 5, 7, 6], f32[5, 1, 3, 3], f32[5], ONE, ((2, 2), (2, 2)), (2, 2), 5),
    Conv(f32[1, 3, 33, 35], f32[6, 1, 3, 5], None, (2, 2), ((1, 1), (2, 1)), ONE, 3),
    Conv(f64[2, 2, 9, 40], f64[2, 1, 1, 4], f64[2], (1, 3), ((0, 0), (1, 2)), (1, 2), 2),
    Conv(f16[1, 4, 7, 7], f16[4, 1, 7, 7], f16[4], ONE, ((3, 3), (3, 3)), ONE, 4),
    Conv(f32[2, 3, 13, 56], f32[3, 1, 7, 7], f32[3], ONE, ((3, 3), (3, 3)), ONE, 3),
    Conv(f32[1, 2, 98, 101], f32[4, 1, 5, 7], None, ONE, ((2, 1), (0, 3)), (2, 1), 2),  # not near
]
ROWS = [
    *(op for op in CONVS if is_read_in_rows(op, WIDE)),
    Conv(f32[1, 300, 7, 7], f32[17, 300, 3, 3], f32[17], ONE, SAME, ONE, 1),  # several stretches
    Conv(f32[2, 3, 31, 29], f32[9, 3, 7, 7], None, (2, 2), ((3, 3), (3, 3)), ONE, 1),
    Conv(f32[2, 4, 17, 2], f32[6, 2, 3, 1], f32[6], (3, 2), ((1, 0), (0, 0)), (2, 3), 2),
    Conv(f32[2, 3, 1009], f32[7, 3, 5], f32[7], (2,), ((2, 1),), (1,), 1),  # a row in parts
    Conv(f32[1, 2, 5, 331], f32[14, 2, 2, 3], None, ONE, SAME, ONE, 1),
]
POINTWISE = [
    Conv(f32[7, 16, 7, 11], f32[32, 16, 1, 1], f32[32], ONE, NONE, ONE, 1),
    Conv(f32[2, 6, 13, 43], f32[10, 3, 1, 1], None, ONE, NONE, ONE, 2),
    Conv(f32[1, 300, 73], f32[17, 300, 1], f32[17], (1,), ((0, 0),), (1,), 1),  # two stretches
    Conv(f64[2, 5, 3, 7, 5], f64[9, 5, 1, 1, 1], f64[9], (1,) * 3, ((0, 0),) * 3, (1,) * 3, 1),
]
LANES_OF_CHANNELS = [
    Conv(f32[1, 96, 7, 7], f32[33, 96, 1, 1], f32[33], ONE, NONE, ONE, 1),
    Conv(f32[1, 6, 5, 2], f32[40, 3, 1, 1], None, ONE, NONE, ONE, 2),
]
UNPACKED = [
    LANES_OF_CHANNELS[0],
    POINTWISE[2],
    Conv(f32[1, 600, 3, 5], f32[17, 600, 1, 1], None, ONE, NONE, ONE, 1),  # stretches alike
    Conv(f64[1, 5, 3, 7, 5], f64[9, 5, 1, 1, 1], f64[9], (1,) * 3, ((0, 0),) * 3, (1,) * 3, 1),
]
PATCHES = [
    Conv(f32[2, 3, 41, 37], f32[33, 3, 5, 7], f32[33], (5, 7), NONE, ONE, 1),
    Conv(f32[1, 2, 64, 96], f32[40, 2, 16, 32], None, (16, 32), NONE, ONE, 1),  # four stretches
    Conv(f32[1, 6, 13, 14], f32[10, 3, 2, 3], f32[10], (3, 4), NONE, ONE, 2),  # gaps, groups
    Conv(f64[3, 5, 29], f64[9, 5, 4], f64[9], (4,), ((0, 0),), (1,), 1),
    Conv(f16[1, 3, 4, 6, 10], f16[7, 3, 2, 2, 2], f16[7], (2,) * 3, ((0, 0),) * 3, (1,) * 3, 1),
]
N = Var("n", i32)
OPEN = [
    Conv(f32[N, 7, 13, 11], f32[33, 7, 3, 3], f32[33], (2, 1), SAME, ONE, 1),
    Conv(f32[N, 6, 9, 9], f32[10, 3, 3, 3], f32[10], ONE, SAME, (2, 1), 2),
    Conv(f32[N, 40, 7, 7], f32[129, 40, 1, 1], None, ONE, ((0, 0), (0, 0)), ONE, 1),
    Conv(f16[N, 15, 1, 3], f16[9, 5, 1, 1], f16[9], ONE, ((0, 0), (0, 0)), ONE, 3),
]
CASES = [
    *((conv_panels, op, WIDE, ConvRegisters(8, 2)) for op in CONVS),
    *((conv_panels, op, WIDE, ConvRegisters(14, 1)) for op in CONVS[-5:]),
    *((conv_panels, op, HALF, ConvRegisters(6, 2)) for op in CONVS[-5:]),
    *((conv_panels, op, PLAIN, ConvRegisters(4, 2)) for op in CONVS[-5:-3]),
    *((conv_rows, op, WIDE, Tile(8, 2)) for op in ROWS),
    *((conv_rows, op, WIDE, Tile(4, 4)) for op in ROWS[-4:]),
    *((conv_rows, op, HALF, Tile(6, 2)) for op in ROWS),
    *((conv_rows, op, PLAIN, Tile(2, 1)) for op in ROWS[-4:]),
    *((conv_rows, op, WIDE, Tile(14, 3)) for op in ROWS[-2:]),
    *((conv_pointwise, op, WIDE, PointwiseTile(8, 2)) for op in POINTWISE),
    *((conv_pointwise, op, HALF, PointwiseTile(4, 3)) for op in POINTWISE),
    *((conv_pointwise, op, PLAIN, PointwiseTile(2, 1)) for op in POINTWISE),
    *((conv_panels, op, WIDE, ConvRegisters(14, 2, True)) for op in LANES_OF_CHANNELS),
    *((conv_panels, op, HALF, ConvRegisters(6, 2, True)) for op in LANES_OF_CHANNELS),
    *((conv_unpacked, op, WIDE, UnpackedRegisters(14, 1, True)) for op in UNPACKED),
    *((conv_unpacked, op, HALF, UnpackedRegisters(4, 2, True)) for op in UNPACKED),
    *((depthwise_rows, op, WIDE, RowVectors(7, rows)) for op in APART for rows in (1, 3)),
    *((depthwise_rows, op, HALF, RowVectors(2, rows)) for op in APART for rows in (2, 4)),
    *((depthwise_rows, op, PLAIN, RowVectors(4, 3)) for op in APART),
    (
        depthwise_rows,
        Conv(f32[N, 2, 9, 13], f32[2, 1, 3, 3], None, (2, 1), SAME, ONE, 2),
        WIDE,
        RowVectors(2, 3),
    ),
    *((conv_panels, op, WIDE, ConvRegisters(8, 2)) for op in OPEN),
    *((conv_rows, op, WIDE, Tile(8, 2)) for op in OPEN[:2]),
    (conv_pointwise, OPEN[2], WIDE, PointwiseTile(8, 2)),
    *((conv_patches, op, WIDE, PatchRegisters(14, 1, True)) for op in PATCHES),
    *((conv_patches, op, HALF, PatchRegisters(4, 2, True)) for op in PATCHES),
    *((conv_patches, op, PLAIN, PatchRegisters(6, 1, True)) for op in PATCHES[:3]),
    (
        conv_patches,
        Conv(f32[N, 3, 16, 24], f32[9, 3, 4, 8], f32[9], (4, 8), NONE, ONE, 1),
        WIDE,
        PatchRegisters(8, 2, True),
    ),
]


@pytest.fixture(scope="module")
def library(compile_modules):
    return compile_modules([made(op, *how).module for made, op, *how in CASES])


@pytest.mark.parametrize("number", range(len(CASES)))
def test_convolutions(library, number, check):
    images = (1, 2, 7)[number % 3]
    op = CASES[number][1].with_sizes(lambda size: images)
    arrays, result = op.examples(seed=number), op.results()[0]
    found = np.full(result.shape, 77, result.dtype.numpy)
    library(number, *arrays, found, n=images)
    check(op, arrays, found)


@pytest.mark.parametrize("op", PATCHES, ids=str)
def test_patches_are_read_once(op, check):
    """Nothing is read or written beyond a tensor, and no result by two threads."""
    assert is_of_patches(op, HALF)
    module = conv_patches(op, HALF, PatchRegisters(4, 2, True)).module
    arrays, result = op.examples(seed=0), op.results()[0]
    found = np.full(result.shape, 77, result.dtype.numpy)
    sim.launch(as_run(module, HALF), *arrays, found)
    check(op, arrays, found)


def test_what_is_no_patches():
    x, weight = f32[1, 3, 24, 24], f32[8, 3, 4, 4]
    assert is_of_patches(Conv(x, weight, None, (4, 4), NONE, ONE, 1), WIDE)
    assert not is_of_patches(Conv(x, weight, None, (4, 3), NONE, ONE, 1), WIDE)
    assert not is_of_patches(Conv(x, weight, None, (4, 4), SAME, ONE, 1), WIDE)
    assert not is_of_patches(Conv(x, weight, None, (12, 12), NONE, (2, 2), 1), WIDE)
    assert not is_of_patches(Conv(x, f32[8, 3, 1, 1], None, (4, 4), NONE, ONE, 1), WIDE)
    assert not is_of_patches(Conv(x, f32[3, 1, 4, 4], None, (4, 4), NONE, ONE, 3), WIDE)


def test_patch_embeddings_go_through_panels_of_patches():
    target = Target.parse("cpu+avx512")
    op = Conv(f32[1, 3, 224, 224], f32[768, 3, 16, 16], f32[768], (16, 16), NONE, ONE, 1)
    assert candidates(op, target)[0].schedule.name == "conv_patches"


@pytest.mark.parametrize("op", [*CONVS, *APART], ids=str)
def test_each_is_one_kind(op):
    kinds = {each.schedule.name for each in candidates(op, HALF)}
    rows = {"conv_rows"} if is_read_in_rows(op, HALF) else set()
    last = {"conv_last"} if op.channels_last and is_of_pixels(op) else set()
    enough = is_pointwise(op, HALF) and np.prod(op.spatial()) >= 8
    pointwise = {"conv_pointwise"} if enough else set()
    if is_unpacked(op, HALF) and op.x.shape[0] == 1:
        pointwise |= {"conv_unpacked"}
    if is_of_patches(op, HALF):
        pointwise |= {"conv_patches"}
    assert kinds == (
        {"depthwise_rows"} if op in APART else {"conv_panels"} | rows | last | pointwise
    )


ODD = [
    *(Conv(f32[n, 2, 3, 5], f32[7, 2, 2, 3], f32[7], ONE, SAME, ONE, 1) for n in (1, 2)),
    Conv(f32[1, 7, 1, 1], f32[2, 7, 3, 3], None, ONE, SAME, ONE, 1),
    Conv(f32[1, 2, 129], f32[3, 2, 3], f32[3], (2,), ((1, 0),), (1,), 1),
    Conv(f32[2, 4, 7, 5], f32[6, 2, 3, 2], f32[6], (2, 1), ((2, 0), (1, 2)), (1, 2), 2),
    Conv(f64[1, 1, 3, 13], f64[1, 1, 2, 1], None, (3, 2), NONE, ONE, 1),
    *(Conv(f32[n, 2, 1, 17], f32[7, 2, 1, 1], f32[7], ONE, NONE, ONE, 1) for n in (1, 2)),
    Conv(f32[1, 1, 129], f32[1, 1, 1], f32[1], (1,), ((0, 0),), (1,), 1),
    Conv(f32[1, 6, 3, 13], f32[4, 3, 1, 1], None, ONE, NONE, ONE, 2),
]


@pytest.mark.parametrize("op", ODD, ids=str)
@pytest.mark.parametrize("point", [(4, 2), (14, 1)], ids=str)
def test_simulated_on_odd_sizes(op, point, check):
    """Nothing is read or written beyond a tensor, and no position by two threads."""
    rows = is_read_in_rows(op, HALF)
    made, tile = (conv_rows, Tile) if rows else (conv_pointwise, PointwiseTile)
    arrays, result = op.examples(seed=0), op.results()[0]
    found = np.full(result.shape, 77, result.dtype.numpy)
    sim.launch(as_run(made(op, HALF, tile(*point)).module, HALF), *arrays, found)
    check(op, arrays, found)


@pytest.mark.parametrize("op", [APART[1], *APART[4:]], ids=str)
@pytest.mark.parametrize("rows", [1, 3])
def test_planes_are_read_from_copies_alone(op, rows, check):
    """Each is copied with its padding, in memory of the thread's own where it is small."""
    module = depthwise_rows(op, HALF, RowVectors(2, rows)).module
    small = op.x.shape[3] < 100
    assert [w.of.shape[0] for w in module.workspaces] == ([] if small else [4])
    arrays, result = op.examples(seed=0), op.results()[0]
    found = np.full(result.shape, 77, result.dtype.numpy)
    sim.launch(as_run(module, HALF), *arrays, found)
    check(op, arrays, found)


def test_long_rows_of_small_planes_keep_their_order():
    def alone(size, window):
        pad = ((window // 2, window // 2),) * 2
        op = Conv(f32[1, 96, size, size], f32[96, 1, window, window], None, ONE, pad, ONE, 96)
        return not gains_by_channels_last(op, WIDE)

    assert alone(56, 7)
    assert alone(56, 3)  # by the automatic schedule
    assert not alone(28, 7)
    assert not alone(112, 7)


@pytest.mark.parametrize("op", UNPACKED[:2], ids=str)
def test_places_are_read_where_they_lie(op, check):
    """By one kernel beside that of the weight, and nothing beyond a tensor."""
    module = conv_unpacked(op, HALF, UnpackedRegisters(6, 2, True)).module
    assert [each.name for each in module.workspaces] == ["columns"]
    arrays, result = op.examples(seed=0), op.results()[0]
    found = np.full(result.shape, 77, result.dtype.numpy)
    sim.launch(as_run(module, HALF), *arrays, found)
    check(op, arrays, found)


def test_few_places_of_many_channels_are_not_packed():
    op = Conv(f32[1, 960, 7, 7], f32[160, 960, 1, 1], None, ONE, NONE, ONE, 1)
    assert candidates(op, WIDE)[0].schedule.name == "conv_unpacked"


def test_slabs_are_rows_whose_positions_fill_vectors_and_parts_of_long_rows():
    def slab(size):
        op = Conv(f32[1, 64, size, size], f32[64, 64, 3, 3], None, ONE, SAME, ONE, 1)
        r = Rows(op, Tile(8, 2), WIDE)
        return r.high, r.broad, r.tiles * r.width / size**2

    assert [slab(size)[:2] for size in (14, 56, 3000)] == [(14, 14), (14, 56), (1, 608)]
    assert all(slab(size)[2] < 1.15 for size in (14, 28, 29, 56, 112, 500))


def test_rows_share_the_zeros_between_them():
    def line(padding, window=3, stride=1):
        op = Conv(f32[64, 4, 9, 29], f32[4, 4, 3, window], None, (1, stride), padding, ONE, 1)
        return Rows(op, Tile(4, 1), WIDE).line - op.spatial()[1]

    assert line(SAME) == 1
    assert line(((1, 1), (0, 2))) == 2
    assert line(((1, 1), (3, 2)), window=5) == 2
    assert line(((1, 1), (3, 3)), window=1) == 0
    assert line(SAME, stride=2) == 1  # phases: every second position


def test_the_last_slab_of_an_image_ends_with_it():
    op = Conv(f32[1, 16, 7, 11], f32[32, 16, 1, 1], None, ONE, NONE, ONE, 1)
    p = Pointwise(op, PointwiseTile(8, 2), WIDE)
    assert (p.broad, p.across) == (32, 3)
    assert [p.begin(0, left) for left in (0, 32, 64)] == [0, 32, 45]


def test_windows_are_read_in_rows_and_pointwise_ones_where_x_lies():
    window = Conv(f32[1, 64, 28, 28], f32[64, 64, 3, 3], None, ONE, SAME, ONE, 1)
    place = Conv(f32[1, 64, 28, 28], f32[64, 64, 1, 1], None, ONE, ((0, 0), (0, 0)), ONE, 1)
    assert candidates(window, WIDE)[0].schedule.name == "conv_rows"
    assert candidates(place, WIDE)[0].schedule.name == "conv_pointwise"


@pytest.mark.parametrize(
    ("c", "k", "size", "window", "stride"),
    [(64, 64, 56, 3, 1), (256, 64, 56, 1, 1), (512, 512, 7, 3, 1), (3, 64, 224, 7, 2)],
)
def test_an_open_number_of_images_takes_the_schedule_of_one(c, k, size, window, stride):
    """Products of symbols with numbers count as what they come to."""
    around = ((window // 2, window // 2),) * 2

    def best(n):
        x, weight = f32[n, c, size, size], f32[k, c, window, window]
        return candidates(Conv(x, weight, f32[k], (stride, stride), around, (1, 1), 1), WIDE)[0]

    assert best(N).choice == best(1).choice
