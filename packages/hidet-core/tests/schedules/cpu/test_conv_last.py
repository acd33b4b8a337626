"""Convolutions with channels last on the CPU against numpy: compiled, and simulated."""

import itertools

import numpy as np
import pytest

from hidet import sim
from hidet.ir.expr import Var
from hidet.ops.windows.conv import Conv
from hidet.schedules.base import candidates, gains_by_channels_last
from hidet.schedules.cpu.conv_last import conv_last
from hidet.schedules.cpu.conv_last_layout import Pixels, PixelTile
from hidet.schedules.cpu.depthwise_last import Row, RowPixels, depthwise_last
from hidet.target import Target
from hidet.testing.fused import as_run
from hidet.types import bf16, f16, f32, f64, i32

ONE, SAME, NONE = (1, 1), ((1, 1), (1, 1)), ((0, 0), (0, 0))
WIDE, HALF, PLAIN = (Target.parse(text) for text in ("cpu+avx512", "cpu+avx2", "cpu"))
PAIRS = Target.parse("cpu+avx512+bf16")
N = Var("n", i32)


def last(x, weight, stride=ONE, around=NONE, dilation=ONE, groups=1, bias=True):
    shift = x.dtype[weight.shape[0]] if bias else None
    return Conv(x, weight, shift, stride, around, dilation, groups, True)


DENSE = [
    last(f32[2, 13, 11, 7], f32[33, 3, 3, 7], (2, 1), SAME),
    last(f32[1, 7, 7, 300], f32[17, 3, 3, 300], ONE, SAME),  # several stretches
    last(f32[1, 31, 29, 3], f32[9, 7, 7, 3], (2, 2), ((3, 3), (3, 3)), bias=False),  # in planes
    last(f32[1, 9, 9, 6], f32[10, 3, 3, 3], ONE, SAME, (2, 1), 2),
    last(f32[1, 17, 2, 4], f32[6, 3, 1, 2], (3, 2), ((1, 0), (0, 0)), (2, 3), 2),
    last(f32[1, 8, 9, 40], f32[129, 1, 1, 40], (2, 3)),
    last(f64[1, 9, 9, 3], f64[8, 5, 5, 3], (3, 3), ((2, 1), (0, 2))),
    last(f16[3, 1, 1, 5], f16[7, 1, 1, 5]),
    last(bf16[2, 7, 5, 7], bf16[33, 3, 3, 7], (2, 1), SAME),
    last(f32[2, 19, 5], f32[7, 3, 5], (2,), ((2, 1),), (2,)),  # one axis
    last(f32[1, 3, 5, 7, 5], f32[9, 2, 3, 3, 5], (1, 2, 1), ((1, 0), (1, 1), (0, 2)), (2, 1, 1)),
    last(f32[2, 4, 3, 5, 2], f32[4, 3, 2, 3, 1], (1, 1, 2), ((1, 1),) * 3, (1, 1, 2), 2),
    last(f32[1, 5, 6, 512], f32[3, 2, 2, 512], ONE, ((0, 1), (1, 0))),  # pixels kept apart
]
APART = [
    last(f32[2, 7, 6, 5], f32[5, 3, 3, 1], ONE, ((2, 2), (2, 2)), (2, 2), 5),
    last(f32[1, 33, 35, 33], f32[33, 3, 5, 1], (2, 2), ((1, 1), (2, 1)), ONE, 33, bias=False),
    last(f64[2, 9, 40, 2], f64[2, 1, 4, 1], (1, 3), ((0, 0), (1, 2)), (1, 2), 2),
    last(f32[1, 7, 7, 16], f32[16, 7, 7, 1], ONE, ((3, 3), (3, 3)), ONE, 16),
    last(f32[1, 1, 2, 129], f32[129, 3, 3, 1], ONE, SAME, ONE, 129),
    last(f16[2, 7, 6, 37], f16[37, 3, 3, 1], (2, 1), SAME, ONE, 37),
    last(bf16[1, 9, 11, 16], bf16[16, 5, 3, 1], ONE, SAME, ONE, 16),
]
OPEN = [
    last(f32[N, 7, 5, 7], f32[17, 3, 3, 7], (2, 1), SAME),
    last(f32[N, 7, 5, 33], f32[33, 3, 3, 1], ONE, SAME, ONE, 33),
]
CASES = [
    *((conv_last, op, WIDE, PixelTile(14, 2)) for op in DENSE),
    *((conv_last, op, WIDE, PixelTile(4, 4)) for op in DENSE[:3]),
    *((conv_last, op, HALF, PixelTile(6, 2)) for op in DENSE),
    *((conv_last, op, PLAIN, PixelTile(4, 2)) for op in DENSE[:4]),
    *((depthwise_last, op, WIDE, RowPixels(count)) for op in APART for count in (8, 4)),
    *((depthwise_last, op, HALF, RowPixels(14)) for op in APART),
    *((depthwise_last, op, PLAIN, RowPixels(8)) for op in APART),
    (conv_last, OPEN[0], WIDE, PixelTile(14, 2)),
    (depthwise_last, OPEN[1], WIDE, RowPixels(8)),
]


@pytest.fixture(scope="module")
def library(compile_modules):
    return compile_modules([made(op, *how).module for made, op, *how in CASES])


@pytest.mark.parametrize("number", range(len(CASES)))
def test_compiled(library, number, check):
    images = (1, 2, 7)[number % 3]
    op = CASES[number][1].with_sizes(lambda size: images)
    arrays, result = op.examples(seed=number), op.results()[0]
    found = np.full(result.shape, 77, result.dtype.numpy)
    library(number, *arrays, found, n=images)
    check(op, arrays, found)


ODD = [
    *(last(f32[n, 3, 5, 2], f32[7, 2, 3, 2], ONE, SAME) for n in (1, 2)),
    *(last(bf16[2, 3, 5, c], bf16[7, 2, 3, c], ONE, SAME) for c in (1, 2, 7)),
    last(bf16[1, 2, 3, 129], bf16[2, 2, 1, 129], ONE, SAME),
    last(f32[1, 2, 7, 7], f32[2, 1, 3, 7], (1, 2), ((0, 0), (1, 1))),
    last(f32[1, 1, 129, 1], f32[1, 1, 2, 1]),
    last(f32[1, 3, 13, 7], f32[7, 3, 3, 1], ONE, SAME, ONE, 7),
    last(f32[2, 2, 1, 129], f32[129, 2, 2, 1], ONE, SAME, ONE, 129),
    last(f16[1, 3, 5, 7], f16[7, 3, 3, 1], ONE, SAME, ONE, 7),
]


@pytest.mark.parametrize("op", ODD, ids=str)
def test_simulated_on_odd_sizes(op, check):
    target = PAIRS if op.x.dtype is bf16 else HALF
    best = candidates(op, target)[0]
    assert best.schedule.name in ("conv_last", "depthwise_last", "conv_panels")
    made = conv_last if op.groups == 1 else depthwise_last
    point = PixelTile(6, 2) if op.groups == 1 else RowPixels(8)
    arrays, result = op.examples(seed=0), op.results()[0]
    found = np.full(result.shape, 77, result.dtype.numpy)
    sim.launch(as_run(made(op, target, point).module, target), *arrays, found)
    check(op, arrays, found)


@pytest.mark.parametrize("target", [WIDE, HALF, PLAIN], ids=str)
def test_they_are_what_the_cost_model_takes(target):
    window = last(f32[1, 28, 28, 64], f32[64, 3, 3, 64], ONE, SAME)
    depthwise = last(f32[1, 28, 28, 64], f32[64, 3, 3, 1], ONE, SAME, ONE, 64)
    assert candidates(window, target)[0].schedule.name == "conv_last"
    assert candidates(depthwise, target)[0].schedule.name == "depthwise_last"
    # Rows of three numbers, each found by divisions, took longer to copy than to multiply.
    first = last(f32[1, 224, 224, 3], f32[32, 3, 3, 3], (2, 2), SAME)
    assert candidates(first, target)[0].schedule.name == "conv_last"


def test_steps_of_a_network():
    """Measured: single places that step over pixels take 10 % more by tiles of pixels than through
    panels. Windows of 3 x 3 took 2 % more until tiles left out positions beyond the image."""
    for channels, size, window in ((256, 28, 3), (512, 14, 3), (1024, 14, 1)):
        around = ((window // 2, window // 2),) * 2
        x, weight = f32[1, size, size, channels], f32[2 * channels, window, window, channels]
        found = candidates(last(x, weight, (2, 2), around), WIDE)[0]
        assert found.schedule.name == ("conv_last" if window > 1 else "conv_panels")


def test_window_positions_are_those_that_read_x():
    """Against a search, of tiles of one to four lines; the cost model counts them as well."""
    sides = (0, 0), (1, 1), (2, 3), (5, 0)
    cases = itertools.product((1, 3, 7, 14), (1, 2, 5), (1, 2), (1, 3), sides)
    for size, window, stride, dilation, around in cases:
        if size + sum(around) < dilation * (window - 1) + 1:
            continue
        x, weight = f32[1, size, 1, 8], f32[4, window, 1, 8]
        op = last(x, weight, (stride, 1), (around, (0, 0)), (dilation, 1))
        p = Pixels(op, PixelTile(2, 1), HALF)
        for count in (1, 2, 4):
            counted = 0
            for first in range(0, p.out[1], count):
                lines = range(first, min(first + count, p.out[1]))
                read = [
                    t for t in range(window)
                    if any(0 <= i * stride + t * dilation - around[0] < size for i in lines)
                ]  # fmt: skip
                begin, end = p.window_positions(1, first, count)
                assert set(read) <= set(range(begin, end))
                assert count > 1 or len(read) == max(0, end - begin)
                counted += len(read)
            assert p.window_positions_in(1, count) == counted


def test_the_rest_of_the_weight_is_asked_for_ahead():
    """Tiles that meet a stretch together ask for all of the next one."""
    op = last(f32[1, 14, 14, 64], f32[64, 3, 3, 64], ONE, SAME)
    p = Pixels(op, PixelTile(14, 2), WIDE)
    count, start = p.part, 0
    asked = set()
    for tile, tap, turn in itertools.product(range(4), range(9), range(count)):
        row, shift = p.ahead(start, tap, turn, tile)
        asked.add((row * p.width + shift) // 16)
    first = p.part * 9 * p.width // 16
    assert asked == set(range(first, first + count * 9 * p.width // 16))


def test_short_rows_are_taken_together_and_long_ones_cut_evenly():
    def tile(size, pixels=14):
        op = last(f32[1, size, size, 64], f32[64, 3, 3, 64], ONE, SAME)
        p = Pixels(op, PixelTile(pixels, 2), WIDE)
        return p.high, p.wide

    assert [tile(size) for size in (7, 14, 15, 28, 30)] == [
        (2, 7), (1, 14), (1, 8), (1, 14), (1, 10)
    ]  # fmt: skip


def test_most_tiles_of_a_depthwise_row_ask_nothing():
    op = last(f32[1, 56, 56, 32], f32[32, 3, 3, 1], ONE, SAME, ONE, 32)
    row = Row(op, RowPixels(8), WIDE)
    assert (row.across, row.wide, row.inner) == (7, 8, range(1, 6))


def second(c, k, size, window, groups=1, of=f32):
    around = ((window // 2, window // 2),) * 2
    x, weight = of[1, c, size, size], of[k, c // groups, window, window]
    return Conv(x, weight, None, ONE, around, ONE, groups)


def test_numbers_of_16_bits_have_their_channels_last_too_and_are_multiplied_in_pairs_if_they_can():
    for of in (bf16, f16):
        assert gains_by_channels_last(second(256, 256, 14, 3, of=of), WIDE)
    windows = [last(of[1, 14, 14, 256], of[256, 3, 3, 256], ONE, SAME) for of in (bf16, f32)]
    narrow, wide = (candidates(op, PAIRS)[0] for op in windows)
    assert narrow.schedule.name == wide.schedule.name == "conv_last"
    assert 1.7 * narrow.seconds < wide.seconds


@pytest.mark.parametrize(
    ("op", "alone", "among"),
    [
        (second(256, 256, 14, 3), True, True),
        (second(16, 32, 64, 1), False, True),
        (second(512, 1024, 14, 1), True, True),
        (second(3, 32, 224, 3), False, True),  # so are few channels
        (second(64, 64, 56, 3), False, True),  # and long rows
        (second(32, 32, 112, 3, groups=32), False, True),  # read in rows as it lies
        (second(32, 32, 14, 3, groups=32), True, True),
        (second(32, 32, 112, 7, groups=32), True, True),
        (second(128, 128, 56, 3, groups=32), False, False),  # four channels fill no vector
    ],
    ids=str,
)
def test_several_convolutions_pay_for_turning_images(op, alone, among):
    assert gains_by_channels_last(op, WIDE) is alone
    assert gains_by_channels_last(op, WIDE, among=True) is among
