"""Every CUDA schedule of products and convolutions, simulated, against numpy."""

import random

import numpy as np
import pytest

from hidet import sim
from hidet.ir.expr import Var
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.windows.conv import Conv
from hidet.schedules.base import SCHEDULES, candidates
from hidet.schedules.cuda.tiles.mma import Warps
from hidet.schedules.cuda.tiles.simt import Threads
from hidet.target import Target
from hidet.testing.fused import as_run
from hidet.types import bf16, f16, f32, f64, i32

TARGET = Target.parse("sm_90a")
ONE = (1, 1)
M = Var("m", i32)

OPS = [
    *Matmul.samples(),
    *Linear.samples(),
    *Conv.samples(),
    Linear(f16[33, 129], f16[7, 129], f16[7]),
    Linear(bf16[129, 64], bf16[33, 64], None),
    Linear(f32[2, 3, 7], f32[33, 7], f32[33]),
    Linear(f16[1, 200], f16[70, 200], f16[70]),
    Linear(f16[40], f16[24, 40], f16[24]),
    Matmul(f16[31, 37], f16[37, 41]),
    Matmul(f16[40, 24], f16[33, 40], True, True),
    Matmul(f32[70, 33], f32[33, 67]),
    Matmul(f16[3, 8, 16], f32[16, 8]),
    Conv(f16[2, 16, 9, 7], f16[24, 16, 3, 3], f16[24], (2, 1), ((1, 1), (1, 0)), (1, 2), 1),
    Conv(f16[1, 32, 8, 8], f16[16, 32, 1, 1], f16[16], ONE, ((0, 0), (0, 0)), ONE, 1),
    Conv(f16[1, 6, 7, 7], f16[8, 3, 3, 3], f16[8], ONE, ((1, 1), (1, 1)), ONE, 2),
]


@pytest.mark.parametrize("op", OPS, ids=str)
def test_products_and_convolutions(op, check):
    found = candidates(op, TARGET)
    few = random.Random(str(op)).sample(found[1:], min(2, len(found) - 1)) if found else []
    for number, candidate in enumerate([*found[:1], *few]):
        module = candidate.schedule.apply(op, TARGET, candidate.point).module
        simulated(op, module if number else as_run(module), check)


def simulated(op, module, check):
    arrays, result = op.examples(seed=0), op.results()[0]
    out = np.full(result.shape, 77, result.dtype.numpy)
    sim.launch(module, *arrays, out)
    check(op, arrays, out)


LONG = [OPS[-3], OPS[-7], Linear(f16[9, 257], f16[17, 257], f16[17])]


@pytest.mark.parametrize("slices", [2, 3])
@pytest.mark.parametrize("op", LONG, ids=str)
def test_blocks_share_a_sum(op, slices, check):
    for schedule in SCHEDULES:
        if not isinstance(op, schedule.ops):
            continue
        points = [each.point for each in schedule.candidates(op, TARGET)]
        for point in [each for each in points if each.slices == slices][:1]:
            built = schedule.apply(op, TARGET, point)
            assert len(built.module.kernels) == 1
            simulated(op, built.module, check)


@pytest.mark.parametrize("m", [1, 33])
@pytest.mark.parametrize(
    ("schedule", "op", "point"),
    [
        (
            "matmul_mma",
            Linear(f16[M, 40], f16[24, 40], f16[24]),
            Warps((32, 32), 32, (1, 2), 1),
        ),
        ("matmul_mma", Matmul(f16[2, 16, M], f16[2, M, 8]), Warps((16, 64), 64, (1, 4), 1)),
        ("matmul_simt", Linear(f32[M, 9], f32[7, 9], None), Threads((32, 32), 8, (4, 4), 1)),
        (
            "conv_simt",
            Conv(f32[M, 3, 5, 4], f32[7, 3, 3, 3], None, ONE, ((1, 1), (1, 1)), ONE, 1),
            Threads((32, 32), 8, (4, 4), 1),
        ),
        (
            "conv_mma",
            Conv(f16[1, 3, M, 5], f16[7, 3, 1, 3], None, (2, 1), ((0, 0), (1, 1)), ONE, 1),
            Warps((32, 32), 32, (1, 2), 1),
        ),
    ],
)
def test_sizes_known_at_run_time(schedule, op, point, m, check):
    (named,) = (each for each in SCHEDULES if each.name == schedule)
    module = named.apply(op, TARGET, point).module
    fixed = op.with_sizes(lambda size: m)
    simulated(fixed, module, check)


def test_full_precision_is_kept(check):
    op = Matmul(f32[33, 200], f32[200, 17])
    assert "matmul_tf32" not in {c.schedule.name for c in candidates(op, TARGET)}
    op = Matmul(f64[33, 20], f64[20, 17])
    assert {c.schedule.name for c in candidates(op, TARGET)} == {"matmul_simt"}


def test_small_grids_are_divided_along_k():
    best = candidates(Linear(f16[128, 3072], f16[768, 3072], f16[768]), TARGET)[0].point
    blocks = (128 // best.block[0]) * (768 // best.block[1])
    assert best.slices > 1
    assert blocks * best.slices >= TARGET.cores / 4
    best = candidates(Matmul(f16[4096, 4096], f16[4096, 4096]), TARGET)[0].point
    assert best.slices == 1
    assert best.block[0] * best.block[1] >= 128 * 128


@pytest.mark.parametrize(
    ("op", "schedule"),
    [
        (Matmul(f16[1, 768], f16[768, 50257]), "matmul_small_m"),  # 25 us, 40 by mma.sync
        (Linear(f16[2048, 48], f16[96, 48], None), "matmul_mma"),  # 1.5 us, 1.9 by warpgroups
        (Linear(f16[2048, 64], f16[1024, 64], None), "matmul_wgmma"),  # 2.6 us, 4.6 by mma.sync
        (Linear(f16[17, 4096], f16[4096, 4096], None), "matmul_wgmma"),
    ],
    ids=str,
)
def test_the_cost_model_counts_pieces_of_rows(op, schedule):
    """What is faster on an H200 where rows begin anywhere, or are no whole lines."""
    assert candidates(op, TARGET)[0].schedule.name == schedule
