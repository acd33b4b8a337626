"""Attention on tensor cores: every way to divide it, simulated, against float64."""

import numpy as np
import pytest

from hidet import sim
from hidet.graph import refer
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Var, wrap
from hidet.ops.products.attention import CAPPED, Attention
from hidet.options import options
from hidet.schedules.attention import rows_of
from hidet.schedules.base import candidates
from hidet.schedules.cuda.attention.blocks import Blocks
from hidet.schedules.cuda.attention.query_tile import block_rows
from hidet.schedules.cuda.attention.schedule import by_tensor_cores, tiled
from hidet.schedules.cuda.attention.simt import Lanes, by_lanes
from hidet.schedules.space import points
from hidet.target import Target
from hidet.testing.fused import as_run
from hidet.types import bf16, boolean, f16, f32, f64, i32

TARGET = Target.parse("sm_90a")
M, N = Var("m", i32), Var("n", i32)
WAVES = Attention(f16[34, 61, 16], f16[34, 61, 16], f16[34, 61, 16], None, True, 0.2)
LLAMA = Attention(f16[32, 512, 64], f16[8, 512, 64], f16[8, 512, 64], None, True, 0.125)
ERROR = {f16: 1e-3, bf16: 8e-3, f32: 1e-6}
"""Of the whole result, as a norm: rounding of the weights and of the result, or of all."""

POINTS = [
    Blocks(32, 32, (2, 1), 2, 1),
    Blocks(64, 32, (2, 1), 3, 1),
    Blocks(32, 64, (1, 2), 2, 1),
    Blocks(16, 64, (1, 4), 2, 2),
    Blocks(16, 32, (1, 2), 3, 4),
    Blocks(16, 32, (1, 2), 2, 16),
]
LANES = [Lanes(64, 32, (2, 1), 3, 1), Lanes(16, 64, (1, 4), 2, 2), Lanes(32, 16, (1, 1), 2, 16)]
OPS = [
    Attention(f16[2, 4, 70, 40], f16[2, 2, 129, 40], f16[2, 2, 129, 24], None, True, 0.2),
    Attention(bf16[1, 8, 1, 64], bf16[1, 2, 300, 64], bf16[1, 2, 300, 64], None, False, 0.2),
    Attention(f16[2, 4, 7, 33], f16[2, 2, 129, 33], f16[2, 2, 129, 33], f16[4, 1, 129], False, 0.2),
    Attention(bf16[3, 7, 32], bf16[3, 2, 32], bf16[3, 2, 32], bf16[7, 1], True, -0.3),
    Attention(f32[2, 4, 70, 40], f32[2, 2, 129, 40], f32[2, 2, 129, 24], None, True, 0.2),
    Attention(f32[1, 8, 1, 64], f32[1, 2, 300, 64], f32[1, 2, 300, 64], None, False, 0.2),
    Attention(f32[4, 7, 33], f32[2, 129, 33], f32[2, 129, 33], f32[4, 1, 129], False, 0.2),
    Attention(f32[3, 7, 32], f32[3, 2, 32], f32[3, 2, 32], boolean[7, 1], True, -0.3),
]


def run(op, point, **sizes):
    """The result of the lowered kernels, and what it should be."""
    module = tiled(op, TARGET, point).module
    fixed = op.with_sizes(lambda size: sizes[size.name])
    arrays = fixed.examples(seed=0)
    y = sim.empty(fixed.infer().shape, fixed.infer().dtype)
    sim.launch(as_run(module), *arrays, y, **sizes)
    return np.asarray(y, np.float64), refer(fixed, arrays)[0], arrays


def near(found, expected, of):
    """Whether the whole is as near as rounding of single elements leaves it."""
    assert np.linalg.norm(found - expected) <= ERROR[of] * np.linalg.norm(expected)


@pytest.mark.parametrize("point", POINTS, ids=str)
@pytest.mark.parametrize("op", OPS, ids=str)
def test_every_division(op, point):
    found, expected, _ = run(op, point)
    near(found, expected, op.q.dtype)


@pytest.mark.parametrize("point", LANES, ids=str)
@pytest.mark.parametrize("op", [op for op in OPS if op.q.dtype is f32], ids=str)
def test_every_division_on_cuda_cores(op, point):
    found, expected, _ = run(op, point)
    near(found, expected, op.q.dtype)


@pytest.mark.parametrize("point", [POINTS[0], POINTS[-1]], ids=str)
@pytest.mark.parametrize("of", [f16, bf16, f32], ids=str)
@pytest.mark.parametrize(("m", "mask"), [(7, None), (1, boolean[1, 129]), (37, "of")])
def test_scores_held_within_bounds(m, mask, of, point):
    mask = of[m, 129] if mask == "of" else mask
    op = Attention(of[4, m, 32], of[2, 129, 32], of[2, 129, 24], mask, mask is None, 0.9, CAPPED)
    found, expected, _ = run(op, point)
    near(found, expected, of)


@pytest.mark.parametrize("of", [f16, f32], ids=str)
@pytest.mark.parametrize(("m", "n"), [(1, 1), (129, 7), (33, 130)])
def test_symbolic_lengths(m, n, of):
    op = Attention(of[2, M, 32], of[2, N, 32], of[2, N, 32], None, True, 0.2)
    for point in (Blocks(32, 32, (2, 1), 2, 1), *LANES[: of is f32]):
        found, expected, _ = run(op, point, m=m, n=n)
        near(found, expected, of)


def test_one_tile_needs_one_buffer():
    op = Attention(f16[2, 70, 32], f16[2, 50, 32], f16[2, 50, 32], boolean[70, 50], False, 0.2)
    found, expected, _ = run(op, Blocks(64, 64, (4, 1), 1, 1))
    near(found, expected, f16)


@pytest.mark.parametrize("point", [POINTS[0], POINTS[2], POINTS[3], POINTS[5]], ids=str)
def test_a_row_that_keeps_nothing_is_zero(point):
    op = Attention(f16[1, 5, 32], f16[1, 600, 32], f16[1, 600, 32], boolean[5, 600], False, 0.2)
    module = tiled(op, TARGET, point).module
    q, k, v, _ = op.examples(seed=0)
    kept = np.zeros((5, 600), bool)
    kept[1, 599] = kept[3, 3] = True
    y = sim.empty((1, 5, 32), f16)
    sim.launch(as_run(module), q, k, v, kept, y)
    np.testing.assert_array_equal(y[0], [0 * v[0, 0], v[0, 599], 0 * v[0, 0], v[0, 3], 0 * v[0, 0]])


def test_what_it_is_for():
    def takes(of, *sizes, arch="sm_90a"):
        m, n, d = sizes
        op = Attention(of[2, m, d], of[2, n, d], of[2, n, d], None, False, 1.0)
        return by_tensor_cores(op, Target.parse(arch))

    assert takes(f16, M, N, 64)
    assert takes(bf16, 1, 7, 33, arch="sm_80")
    assert takes(f32, 7, N, 40)
    assert not takes(f64, 8, 8, 64)
    assert not takes(f16, 0, 8, 64)
    assert not takes(f16, 8, 8, M)


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"])
def test_float32_is_one_kernel_on_every_gpu(arch):
    """By three products of tf32 where tensor cores are that fast, else on CUDA cores."""
    target, slow = Target.parse(arch), arch in ("sm_86", "sm_89", "sm_120")
    for heads, rows, size in ((12, 128, 64), (12, 512, 64), (16, 1024, 128)):
        op = Attention(*(f32[heads, rows, size],) * 3, None, False, 0.125)
        best = candidates(op, target)[0]
        assert best.schedule.name == ("attention_simt" if slow else "attention_mma")
        assert best.point.shared_bytes(rows_of(op)) <= target.max_shared_bytes_per_block
        assert by_lanes(op, target) is slow
    short = Attention(*(f32[12, 512, 64],) * 3, None, False, 0.125)
    with options(mma="simt"):
        assert candidates(short, target)[0].schedule.name == "attention_simt"


def test_long_rows_of_float32_find_room_in_99_kib():
    op = Attention(*(f32[8, 1024, 256],) * 3, None, False, 0.125)
    for arch in ("sm_86", "sm_89", "sm_120"):
        for space in (Blocks, Lanes):
            assert any(point.fits(op, Target.parse(arch)) for point in points(space))


def test_waves_of_blocks_give_each_multiprocessor_as_much():
    rows, x = rows_of(LLAMA), Var("x", i32)
    wave = Blocks(64, 64, (4, 1), 2, 1).wave(rows, TARGET)
    assert wave == TARGET.cores
    place = [wrap(each) for each in block_rows(rows, x, 8, wave)]
    found = [tuple(int(evaluate(e, {x: n})) for e in place) for n in range(256)]
    assert sorted(found) == [(z, number) for z in range(32) for number in range(8)]
    tiles = [sum(8 - number for _, number in found[n::wave]) for n in range(wave)]
    assert max(tiles) <= 9
    assert max(sum(8 - n % 8 for n in range(first, 256, wave)) for first in range(wave)) == 12


def test_only_blocks_that_begin_together_are_in_waves():
    many = Attention(f16[640, 512, 64], f16[640, 512, 64], f16[640, 512, 64], None, True, 0.2)
    few = Attention(f16[2, 512, 64], f16[2, 512, 64], f16[2, 512, 64], None, True, 0.2)
    point = Blocks(64, 64, (4, 1), 2, 1)
    assert point.wave(rows_of(WAVES), TARGET) == 0
    assert point.wave(rows_of(many), TARGET) == point.wave(rows_of(few), TARGET) == 0
    assert Blocks(64, 64, (4, 1), 2, 2).wave(rows_of(LLAMA), TARGET) == 0


def test_blocks_in_waves():
    point = Blocks(16, 32, (1, 2), 2, 1)
    assert point.wave(rows_of(WAVES), TARGET)
    found, expected, _ = run(WAVES, point)
    near(found, expected, f16)


def test_llamas_rows_are_dealt_out_and_two_tiles_are_ahead():
    found = candidates(LLAMA, TARGET)
    best = next(each.point for each in found if each.schedule.name == "attention_mma")
    assert best == Blocks(64, 64, (4, 1), 3, 1)
    assert best.wave(rows_of(LLAMA), TARGET)
