"""Convolutions by warpgroups: windows, strides, paddings and channels of any size, rings that go
round, clusters, and what fusion puts behind them, in the simulator; what NVRTC makes of them; the
same on a GPU."""

from dataclasses import replace

import numpy as np
import pytest

from hidet import ops, sim
from hidet.build.choosing.choices import choices
from hidet.graph import symbol, trace_from
from hidet.ir.expr import Var
from hidet.ops.windows.conv import Conv
from hidet.passes.pipeline import lower
from hidet.schedules.cuda.warpgroups.convolution import ConvWarpgroups, by_wgmma, conv_wgmma, image
from hidet.schedules.cuda.warpgroups.window import Pixels, Rows
from hidet.schedules.cuda.warpgroups.windows import windows_of
from hidet.schedules.space import from_json, to_json
from hidet.target import Target
from hidet.testing.as_meant import as_meant
from hidet.testing.fused import as_run
from hidet.types import bf16, f16, f32, i32

TARGET = Target.parse("sm_90a")
N = Var("n", i32)
P = ConvWarpgroups
SMALL = P((64, 64), 3, 1)
ONE, NONE, AROUND = (1, 1), ((0, 0), (0, 0)), ((1, 1), (1, 1))


def last(x, weight, bias=True, stride=ONE, padding=NONE, dilation=ONE):
    """A convolution with channels last."""
    return Conv(x, weight, x.dtype[weight.shape[:1]] if bias else None, stride, padding, dilation,
                1, True)  # fmt: skip


CASES = [
    (last(f16[1, 1, 1, 8], f16[1, 1, 1, 8]), SMALL),
    (last(f16[2, 9, 7, 64], f16[24, 3, 3, 64], padding=AROUND), SMALL),
    (last(f16[3, 9, 7, 72], f16[130, 3, 2, 72], True, (2, 1), ((1, 0), (1, 1)), (1, 2)),
     P((64, 128), 3, 1)),
    (last(bf16[1, 5, 5, 16], bf16[7, 3, 3, 16], False, (2, 2), AROUND), P((128, 64), 3, 1)),
    (last(f16[2, 11, 13, 32], f16[7, 3, 3, 32], False, (2, 3), ((2, 1), (0, 1))),
     P((64, 64), 3, 2)),
    (last(f16[1, 7, 7, 64], f16[65, 3, 2, 64], True, ONE, NONE, (3, 5)), P((64, 64), 3, 4)),
    (last(f16[2, 31, 8], f16[7, 5, 8], False, (2,), ((2, 1),), (1,)), SMALL),
    (last(f16[2, 5, 6, 7, 24], f16[9, 2, 3, 3, 24], False, (2, 1, 1),
          ((1, 1), (1, 1), (0, 1)), (1, 2, 1)), SMALL),
    (last(f16[2, 9, 7, 16], f16[9, 4, 4, 16]), SMALL),
    (last(f16[3, 9, 8, 8], f16[130, 2, 3, 8], True, ONE, NONE, (3, 1)), P((64, 128), 3, 1)),
    (last(bf16[2, 70, 24], bf16[7, 5, 24], False, (1,), ((0, 0),), (1,)), P((128, 64), 3, 1)),
    (last(f16[1, 5, 6, 7, 8], f16[9, 3, 2, 4, 8], True, (1, 1, 1), ((0, 0),) * 3, (1, 2, 1)),
     P((64, 64), 3, 2)),
]  # fmt: skip
"""The last index is a multiple of 8; images, windows and output channels may be of any size."""


@pytest.mark.parametrize(("op", "point"), CASES, ids=str)
def test_odd_sizes(op, point, check, is_right_simulated):
    assert point.fits(op, TARGET)
    assert from_json(P, to_json(point)) == point
    is_right_simulated(conv_wgmma(op, TARGET, point).module, op, check)


def test_few_channels_come_with_their_neighbours():
    """Where that takes fewer copies than pixel by pixel, and windows begin side by side."""
    few, many = f16[2, 9, 9, 16], f16[2, 9, 9, 64]
    found = [
        type(image(windows_of(last(x, f16[8, 4, 4, x.shape[-1]], **how)), 64))
        for x, how in [(few, {}), (few, {"stride": (2, 2)}), (few, {"padding": AROUND}), (many, {})]
    ]
    assert found == [Rows, Pixels, Pixels, Pixels]


@pytest.mark.parametrize("n", [1, 3])
def test_as_many_images_as_there_are_at_run_time(n, check, is_right_simulated):
    op = last(f16[N, 5, 5, 16], f16[9, 3, 3, 16], padding=AROUND)
    module = conv_wgmma(op, TARGET, SMALL).module
    is_right_simulated(module, op.with_sizes(lambda size: n), check)


def test_blocks_take_tiles_in_turns(check, is_right_simulated):
    """Fewer blocks than tiles: the ring goes on where the tile before has left it."""
    op = last(f16[3, 9, 9, 40], f16[136, 2, 2, 40])
    module = conv_wgmma(op, replace(TARGET, cores=1), SMALL).module
    assert int(module.kernels[0].launch.grid[0].value) < SMALL.tiles(windows_of(op))
    is_right_simulated(module, op, check)


@pytest.mark.parametrize("slices", [1, 2])
def test_what_is_infinite_spoils_its_neighbours_only(slices):
    """Behind the window's end there is nothing: an image that was read there would be 0 · inf."""
    op = last(f16[2, 6, 6, 16], f16[8, 3, 3, 16], False, padding=AROUND)
    x, weight = op.examples(seed=0)
    x[:, :3, :3] = np.inf
    out = np.zeros(op.infer().shape, np.float16)
    sim.launch(as_run(conv_wgmma(op, TARGET, P((64, 64), 3, slices)).module), x, weight, out)
    assert np.isfinite(out[:, 4:]).all()
    assert np.isfinite(out[:, :, 4:]).all()
    assert not np.isfinite(out[:, :4, :4]).any()


@pytest.mark.parametrize(
    "op",
    [
        last(f16[1, 8, 8, 12], f16[8, 3, 3, 12]),  # pixels that begin anywhere
        last(f32[1, 8, 8, 16], f32[8, 3, 3, 16]),
        last(f16[1, 8, 8, 16], f16[8, 3, 3, 16], stride=(1, 9)),
        last(f16[1, 300, 8, 16], f16[8, 2, 1, 16], dilation=(256, 1)),
        Conv(f16[1, 16, 8, 8], f16[8, 16, 3, 3], None, ONE, NONE, ONE, 1),
        Conv(f16[1, 8, 8, 32], f16[8, 3, 3, 16], None, ONE, NONE, ONE, 2, True),
    ],
    ids=str,
)
def test_what_the_copy_engine_cannot_bring(op):
    assert not by_wgmma(op, TARGET)


def test_where_there_are_no_warpgroups(takes_warpgroups):
    convolution = last(f16[1, 8, 8, 64], f16[64, 3, 3, 64])
    takes_warpgroups(lambda target: by_wgmma(convolution, target))


@pytest.mark.parametrize("point", [SMALL, P((64, 64), 3, 2)], ids=str)
def test_what_is_fused_is_in_the_one_kernel(point, is_one_kernel):
    """A bias, a function and a residual."""
    x, w = symbol((2, 7, 5, 24), "float16"), symbol((40, 3, 3, 24), "float16")
    bias, residual = symbol((40,), "float16"), symbol((2, 7, 5, 40), "float16")
    y = ops.relu(ops.conv2d(x, w, bias, padding=1, channels_last=True) + residual)
    graph = trace_from([y], [x, w, bias, residual])
    is_one_kernel(graph, "conv_wgmma", point)


LARGE = last(f16[32, 28, 28, 128], f16[128, 3, 3, 128], padding=AROUND)
FEW = last(f16[32, 115, 115, 16], f16[64, 4, 4, 16])


@pytest.mark.parametrize(
    ("op", "point"),
    [
        (LARGE, P((128, 128), 6, 1)),
        (LARGE, P((64, 128), 8, 1)),
        (LARGE, P((128, 128), 4, 2)),
        (FEW, P((128, 64), 8, 1)),
    ],
    ids=str,
)
def test_the_compiler_leaves_it_as_it_is(op, point):
    """No product was serialised, no wait put in between, no register spilled."""
    assert point.fits(op, TARGET)
    module = conv_wgmma(op, TARGET, point).module
    text = as_meant(map(lower, module.kernels))
    assert "load<f16, 8>(&staged" in text or point.slices > 1


@pytest.mark.parametrize(
    ("size", "channels", "measured"),
    [
        (56, 64, {(128, 64): 23.4}),
        (28, 128, {(64, 128): 18.1}),
        (14, 256, {(128, 128): 16.0}),
        (7, 512, {(64, 256): 18.9, (64, 128): 18.7}),
    ],
)
def test_the_model_likes_what_was_fast(size, channels, measured):
    """Microseconds on an H200, 32 images; the model is within a fifth of them."""
    image, taps = f16[32, size, size, channels], f16[channels, 3, 3, channels]
    best = choices(last(image, taps, padding=AROUND), TARGET)[0]
    assert best.schedule.name == "conv_wgmma"
    assert best.point.block in measured
    assert best.seconds * 1e6 == pytest.approx(measured[best.point.block], rel=0.2)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("op", "point"), [*CASES, (LARGE, P((64, 128), 8, 1)), (LARGE, P((128, 128), 4, 2))], ids=str
)
def test_on_the_gpu(op, point, check, is_right_on_the_gpu):
    is_right_on_the_gpu(conv_wgmma(op, TARGET, point).module, op, check)
