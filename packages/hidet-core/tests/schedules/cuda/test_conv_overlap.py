"""Convolutions of few channels by warpgroups: windows, steps, paddings and channels of any size,
blocks that take tiles in turns, and what fusion puts around them, in the simulator; what NVRTC
makes of them; the same on a GPU."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from hidet import ops, sim
from hidet.build.choosing.choices import choices
from hidet.graph import refer, symbol, trace_from
from hidet.ir.expr import Var
from hidet.ops.windows.conv import Conv
from hidet.passes.pipeline import lower
from hidet.schedules.cuda.convolution.conv_overlap import OverlapTile, by_overlap, conv_overlap
from hidet.schedules.cuda.convolution.overlap import overlap_of
from hidet.schedules.space import from_json, to_json
from hidet.target import Target
from hidet.testing.as_meant import as_meant
from hidet.testing.compare import assert_close
from hidet.types import bf16, f16, f32, i32

TARGET = Target.parse("sm_90a")
N, H = Var("n", i32), Var("h", i32)
P = OverlapTile
SMALL = P((128, 64), 1)
ONE, NONE, AROUND = (1, 1), ((0, 0), (0, 0)), ((1, 1), (1, 1))


def last(x, weight, bias=True, stride=ONE, padding=NONE, dilation=ONE, groups=1):
    """A convolution with channels last."""
    bias = x.dtype[weight.shape[:1]] if bias else None
    return Conv(x, weight, bias, stride, padding, dilation, groups, True)


CASES = [
    (last(f16[1, 1, 1, 8], f16[1, 1, 1, 8]), SMALL),
    (last(f16[2, 23, 21, 3], f16[40, 7, 7, 3], True, (2, 2), ((3, 3), (3, 3))), P((128, 64), 2)),
    (last(bf16[1, 9, 7, 3], bf16[64, 3, 3, 3], False, ONE, AROUND), P((128, 64), 1)),
    (last(f16[3, 9, 17, 1], f16[70, 5, 4, 1], True, (3, 4), ((0, 1), (2, 0))), SMALL),
    (last(f16[2, 14, 15, 2], f16[130, 2, 3, 2], True, (1, 2)), P((128, 128), 2)),
    (last(f16[1, 2, 129, 4], f16[7, 1, 2, 4], False, (5, 2), ((0, 0), (1, 2))), P((256, 64), 2)),
    (last(bf16[7, 3, 3, 5], bf16[3, 3, 3, 5], True, (2, 1)), P((256, 128), 1)),
    (last(f16[2, 5, 40, 1], f16[9, 3, 11, 1], True, (2, 8), ((1, 1), (5, 5))), SMALL),
    (last(f16[1, 13, 29, 3], f16[40, 3, 11, 3], True, (4, 4), ((0, 2), (2, 2))), P((128, 64), 2)),
    (last(bf16[2, 19, 23, 3], bf16[9, 7, 7, 3], True, (4, 4), ((3, 3), (3, 3))), SMALL),
    (last(f16[1, 9, 33, 8], f16[70, 3, 5, 8], True, (1, 8), ((0, 0), (1, 3))), P((128, 128), 1)),
    (last(f16[2, 6, 17, 5], f16[5, 3, 5, 5], False, (3, 2), ((0, 2), (1, 3))), SMALL),
]
"""Images, windows, steps and output channels may be of any size; eight elements are a line."""


@cache
def built(op, point):
    """The kernels at a point."""
    return conv_overlap(op, TARGET, point).module


def simulated(op, module, check):
    arrays, result = op.examples(seed=0), op.results()[0]
    out = np.full(result.shape, 77, result.dtype.numpy)
    sim.launch(module, *arrays, out)
    check(op, arrays, out)


@pytest.mark.parametrize(("op", "point"), CASES, ids=str)
def test_odd_sizes(op, point, check):
    assert by_overlap(op, TARGET)
    assert point.fits(op, TARGET)
    assert from_json(P, to_json(point)) == point
    simulated(op, built(op, point), check)


@pytest.mark.parametrize("special", [np.inf, np.nan], ids=str)
@pytest.mark.parametrize(("op", "point"), CASES[1:], ids=str)
def test_a_pixel_that_is_no_number_spoils_only_its_windows(op, point, special):
    """Those beside it read it too, and multiply it by zero."""
    x, *others = map(np.array, op.examples(seed=0))
    x[0, 0, -1, -1], x[-1, -1, x.shape[2] // 2, 0] = special, -special
    out = np.full(op.infer().shape, 77, x.dtype)
    sim.launch(built(op, point), x, *others, out)
    with np.errstate(invalid="ignore"):
        (wanted,) = refer(op, [x, *others])
    assert np.isfinite(wanted).any()
    assert_close(out, wanted, op.x.dtype, 64.0)


def test_blocks_take_tiles_in_turns(check):
    """Fewer blocks than tiles: stages are filled again, and what was in them is gone."""
    op = last(f16[3, 19, 17, 3], f16[8, 3, 3, 3], True, (2, 1), AROUND)
    module = conv_overlap(op, replace(TARGET, cores=1), SMALL).module
    assert int(module.kernels[0].launch.grid[0].value) < SMALL.tiles(overlap_of(op))[1]
    simulated(op, module, check)


@pytest.mark.parametrize("n", [1, 3])
def test_as_many_images_as_there_are_at_run_time(n, check):
    op = last(f16[N, 7, 6, 3], f16[9, 3, 3, 3], padding=AROUND)
    module = conv_overlap(op, TARGET, SMALL).module
    simulated(op.with_sizes(lambda size: n), module, check)


@pytest.mark.parametrize("step", [2, 4])
def test_lines_are_where_windows_look(step):
    """Of each window in each plane: the product over lines is the sum over the window."""
    op = last(f16[1, 9, 12, 3], f16[1, 5, 5, 3], False, (3, step), ((2, 1), (1, 2)))
    p, length = overlap_of(op), 64
    seen = {}
    for row in range(p.window[0]):
        for number in range(p.window[1]):
            plane, line = p.line(row, number)
            for pixel in range(p.pixels):
                tap = p.tap_at(0, row * p.window[1] + number, pixel, 0)[1:3]
                seen[tap] = p.x_at(0, 0, plane * length + line, length, pixel, 0)[1:3]
    assert all(seen[i, j] == (i - 2, j - 1) for i in range(5) for j in range(5))


@pytest.mark.parametrize(
    "op",
    [
        last(f16[1, 8, 8, 12], f16[8, 3, 3, 12]),  # more than a line
        last(f16[1, 8, 8, 2], f16[8, 3, 3, 2], stride=(1, 3)),
        last(f32[1, 8, 8, 3], f32[8, 3, 3, 3]),
        last(f16[1, 8, 8, 3], f16[8, 3, 3, 3], dilation=(1, 2)),
        last(f16[1, 8, 8, 4], f16[8, 3, 3, 2], groups=2),
        last(f16[1, H, 8, 3], f16[8, 3, 3, 3]),
        Conv(f16[1, 8, 3], f16[8, 3, 3], None, (1,), ((0, 0),), (1,), 1, True),
        Conv(f16[1, 3, 8, 8], f16[8, 3, 3, 3], None, ONE, NONE, ONE, 1),
    ],
    ids=str,
)
def test_what_lies_otherwise(op):
    assert not by_overlap(op, TARGET)


def test_where_there_are_no_warpgroups(takes_warpgroups):
    convolution = last(f16[1, 8, 8, 3], f16[64, 3, 3, 3])
    takes_warpgroups(lambda target: by_overlap(convolution, target))


def test_what_is_fused_is_in_the_one_kernel(is_one_kernel):
    """An image whose channels are second, scaled; a bias, a residual and a function."""
    x, w = symbol((2, 3, 15, 14), "float16"), symbol((40, 7, 7, 3), "float16")
    bias, residual = symbol((40,), "float16"), symbol((2, 8, 7, 40), "float16")
    image = ops.permute(x * 0.5, (0, 2, 3, 1))
    y = ops.conv2d(image, w, bias, stride=2, padding=3, channels_last=True)
    graph = trace_from([ops.relu(y + residual)], [x, w, bias, residual])
    is_one_kernel(graph, "conv_overlap", P((128, 64), 2))


def first_layer(images):
    """ResNet's."""
    image, taps = f16[images, 224, 224, 3], f16[64, 7, 7, 3]
    return last(image, taps, True, (2, 2), ((3, 3), (3, 3)))


@pytest.mark.parametrize("point", [P((256, 64), 2), P((128, 64), 1)], ids=str)
def test_the_compiler_leaves_it_as_it_is(point, fused):
    """No product was serialised, no wait put in between, no register spilled; pixels of a line
    whose channels are second are read together."""
    x, w, bias = (symbol(shape, "float16") for shape in ((32, 3, 224, 224), (64, 7, 7, 3), (64,)))
    image = ops.permute(x, (0, 2, 3, 1))
    y = ops.conv2d(image, w, bias, stride=2, padding=3, channels_last=True)
    module = fused(trace_from([ops.relu(y)], [x, w, bias]), "conv_overlap", point)
    assert "load_or_zero<f16, 2>" in as_meant(map(lower, module.kernels))


@pytest.mark.parametrize(
    ("images", "block", "measured"),
    [(1, 128, 3.9), (2, 256, 4.9), (4, 256, 7.7), (8, 256, 12.2), (32, 256, 30.8)],
)
def test_the_model_likes_what_was_fastest(images, block, measured):
    """Microseconds on an H200; the model is within a sixth of them."""
    best = choices(first_layer(images), TARGET)[0]
    assert best.schedule.name == "conv_overlap"
    assert best.point.block == (block, 64)
    assert best.seconds * 1e6 == pytest.approx(measured, rel=1 / 6)


def test_by_smaller_instructions_it_takes_as_long_as_was_measured():
    """The model of what finds the channels of a pixel one by one: 8.1 us and 137 us on an H200."""
    for images, measured in ((1, 8.1), (32, 137)):
        found = choices(first_layer(images), TARGET)
        other = next(each for each in found if each.schedule.name == "conv_mma")
        assert other.seconds * 1e6 == pytest.approx(measured, rel=1 / 6)


@pytest.mark.gpu
@pytest.mark.parametrize(("op", "point"), [*CASES, (first_layer(8), P((256, 64), 2))], ids=str)
def test_on_the_gpu(op, point, check, is_right_on_the_gpu):
    is_right_on_the_gpu(conv_overlap(op, TARGET, point).module, op, check)
