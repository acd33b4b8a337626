"""8-bit integers on tensor cores, simulated: exact on odd sizes, for all signs."""

from itertools import product

import numpy as np
import pytest

from hidet import ops, sim
from hidet.graph import symbol, trace_from
from hidet.graph.apply import tracing
from hidet.ops.products.matmul import Matmul
from hidet.ops.windows.conv import Conv
from hidet.schedules.base import SCHEDULES, candidates
from hidet.schedules.cuda.tiles.mma_bytes import ByteStages, ByteWarps
from hidet.schedules.cuda.warpgroups.convolution import ConvWarpgroups
from hidet.schedules.cuda.warpgroups.matmul import MatrixWarpgroups
from hidet.target import Target
from hidet.testing.graph_passes import weight
from hidet.types import i8, i32, u8

TARGET, OLD = Target.parse("sm_90a"), Target.parse("sm_80")
SMALL = {"block": (32, 32), "warps": (1, 2)}
STAGES = {**SMALL, "stages": 3}
NAMES = {
    ByteStages: {Matmul: "matmul_byte_stages", Conv: "conv_byte_stages"},
    ByteWarps: {Matmul: "matmul_bytes", Conv: "conv_bytes"},
    MatrixWarpgroups: {Matmul: "matmul_wgmma"},
    ConvWarpgroups: {Conv: "conv_wgmma"},
}


def built(op, target, point):
    """The kernels of an operator at a point."""
    (schedule,) = (each for each in SCHEDULES if each.name == NAMES[type(point)][type(op)])
    return schedule.apply(op, target, point).module


def matmul(a, b, m, k, n):
    return Matmul(a[m, k], b[n, k], False, True, i32)


def conv(x, weight, stride=1, around=0, groups=1):
    pairs = ((around, around),) * 2
    return Conv(x, weight, None, (stride,) * 2, pairs, (1, 1), groups, True, i32)


CASES = [
    *(
        (matmul(a, b, 33, 129, 7), TARGET, ByteWarps(**SMALL))
        for a, b in product((i8, u8), repeat=2)
    ),
    (matmul(u8, i8, 1, 1, 2), TARGET, ByteWarps(**SMALL)),
    (matmul(u8, i8, 70, 300, 67), TARGET, ByteWarps()),
    (matmul(i8, i8, 20, 520, 9), TARGET, ByteWarps(**SMALL, slices=2)),
    (matmul(i8, i8, 20, 520, 9), OLD, ByteWarps(**SMALL, depth=128, slices=2)),
    (Matmul(u8[2, 3, 5, 48], i8[3, 17, 48], False, True, i32), TARGET, ByteWarps(**SMALL)),
    *(
        (
            Matmul(*(u8[40, 33] if a else u8[33, 40], i8[19, 40] if b else i8[40, 19]), a, b, i32),
            TARGET,
            ByteWarps(**SMALL),
        )
        for a, b in product((False, True), repeat=2)
    ),
    (
        Conv(u8[2, 5, 7, 6], i8[13, 5, 3, 2], None, (1, 1), ((1, 1), (0, 1)), (1, 1), 1, dtype=i32),
        TARGET,
        ByteWarps(**SMALL),
    ),
    (conv(u8[2, 7, 5, 16], i8[13, 3, 3, 16], around=1), TARGET, ByteWarps(**SMALL)),
    (conv(i8[1, 9, 8, 3], u8[7, 5, 5, 3], stride=2), TARGET, ByteWarps(**SMALL)),
    (conv(u8[1, 5, 5, 10], i8[6, 2, 3, 5], groups=2), TARGET, ByteWarps(**SMALL)),
    *(
        (matmul(a, b, 33, 132, 7), TARGET, ByteStages(**STAGES))
        for a, b in product((i8, u8), repeat=2)
    ),
    (matmul(u8, i8, 1, 4, 2), TARGET, ByteStages(**STAGES)),
    (matmul(u8, i8, 70, 304, 67), TARGET, ByteStages()),
    (matmul(i8, i8, 20, 520, 9), OLD, ByteStages(**STAGES, depth=128, slices=2)),
    (conv(u8[2, 7, 5, 16], i8[13, 3, 3, 16], around=1), TARGET, ByteStages(**STAGES)),
    (conv(i8[1, 9, 8, 4], u8[7, 5, 5, 4], stride=2), TARGET, ByteStages(**STAGES)),
    (conv(u8[1, 5, 5, 8], i8[6, 2, 3, 4], groups=2), TARGET, ByteStages(**STAGES)),
    *(
        (matmul(a, b, 129, 272, 7), TARGET, MatrixWarpgroups((64, 64), 2, 1))
        for a, b in product((i8, u8), repeat=2)
    ),
    (matmul(u8, i8, 1, 16, 1), TARGET, MatrixWarpgroups((64, 64), 2, 1)),
    (matmul(u8, i8, 70, 144, 200), TARGET, MatrixWarpgroups((128, 256), 3, 1)),
    (matmul(i8, i8, 20, 528, 130), TARGET, MatrixWarpgroups((64, 128), 2, 2)),
    (
        Matmul(u8[2, 3, 5, 48], i8[17, 48], False, True, i32),
        TARGET,
        MatrixWarpgroups((64, 64), 2, 1),
    ),
    (conv(u8[2, 7, 5, 16], i8[13, 3, 3, 16], around=1), TARGET, ConvWarpgroups((64, 64), 3, 1)),
    (conv(i8[1, 9, 8, 144], u8[70, 3, 3, 144], stride=2), TARGET, ConvWarpgroups((128, 128), 3, 1)),
    (conv(u8[3, 9, 8, 32], i8[24, 4, 3, 32]), TARGET, ConvWarpgroups((64, 64), 2, 2)),
    # Rows of 64 and 32 bytes: places, lines and matrices.
    (conv(u8[2, 9, 8, 64], i8[64, 3, 3, 64], around=1), TARGET, ConvWarpgroups((128, 64), 3, 1)),
    (conv(u8[3, 11, 9, 16], i8[24, 4, 4, 16]), TARGET, ConvWarpgroups((128, 64), 4, 1)),
    (matmul(u8, i8, 300, 64, 129), TARGET, MatrixWarpgroups((128, 64), 3, 1)),
    (matmul(i8, u8, 129, 32, 33), TARGET, MatrixWarpgroups((64, 64), 2, 1)),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}")
def test_sums_are_exact(case):
    op, target, point = case
    assert point.fits(op, target)
    rng = np.random.default_rng(5)
    arrays = []
    for of in (each for each in op.operands() if each is not None):
        low, high = of.dtype.limits
        arrays.append(rng.integers(low, high, of.shape, endpoint=True).astype(of.dtype.numpy))
    found = np.full(op.infer().shape, 77, np.int32)
    sim.launch(built(op, target, point), *arrays, found)
    np.testing.assert_array_equal(found, op.reference(*op.arrange(arrays)))


@pytest.mark.gpu
@pytest.mark.parametrize("case", [case for case in CASES if case[1] is TARGET], ids=str)
def test_on_the_gpu(case, check, is_right_on_the_gpu):
    op, target, point = case
    is_right_on_the_gpu(built(op, target, point), op, check)


def test_they_are_chosen():
    assert candidates(matmul(u8, i8, 64, 64, 64), OLD)[0].schedule.name == "matmul_bytes"
    assert candidates(matmul(u8, i8, 4096, 1024, 256), TARGET)[0].schedule.name == "matmul_wgmma"
    turned = candidates(Matmul(u8[64, 64], i8[64, 64], dtype=i32), TARGET)
    assert turned[0].schedule.name == "matmul_bytes"


def test_quantised_networks_reach_them():
    with tracing():
        how = weight(low=0.01), None
        x, y = symbol((32, 128, 28, 28)), symbol((4096, 1024))
        image, rows = (ops.dequantize(ops.quantize(each, *how), *how) for each in (x, y))
        taps, matrix = (
            ops.dequantize(ops.quantize(weight(*shape), *how, dtype="int8"), *how)
            for shape in ((128, 128, 3, 3), (1024, 1024))
        )
        made = [ops.relu(ops.conv(image, taps, padding=1)), ops.linear(rows, matrix)]
        graph = trace_from(made, [x, y])
    for target, kind in (("sm_80", "byte_stages"), ("sm_90a", "wgmma")):
        explained = graph.explain(target)
        assert f"conv_{kind}" in explained
        assert f"matmul_{kind}" in explained
