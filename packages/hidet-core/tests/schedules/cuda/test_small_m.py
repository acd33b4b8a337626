"""Products of few rows: all sizes, types and ways to lie, each element of b read once, the blocks
of clusters; what the cost model makes of them; the same bits each time on a GPU."""

from math import prod

import numpy as np
import pytest

from hidet import ops, sim
from hidet.build.choosing.choices import choices
from hidet.graph import symbol, trace_from
from hidet.ir.expr import Var
from hidet.ops.products.matmul import Linear, Matmul
from hidet.options import options
from hidet.schedules.base import candidates
from hidet.schedules.cuda.lane_reduction import LaneReduction
from hidet.schedules.cuda.small_m.matmul import (
    MatmulSmallM,
    MatmulSmallMWarps,
    matmul_small_m,
    matmul_small_m_mma,
)
from hidet.schedules.cuda.small_m.mma import WarpReading
from hidet.schedules.cuda.small_m.reading import FEW
from hidet.schedules.cuda.small_m.simt import ThreadReading
from hidet.schedules.product import product_of
from hidet.schedules.space import from_json, to_json
from hidet.target import Target
from hidet.testing.fused import as_run
from hidet.types import bf16, f16, f32, f64, i32

TARGET, OLDER = Target.parse("sm_90a"), Target.parse("sm_80")
T, W = MatmulSmallM, MatmulSmallMWarps
K = Var("k", i32)

THREADS = [
    (Linear(f32[1, 1], f32[1, 1], f32[1]), T(32, 4, 4, 1, 1)),
    (Linear(f32[3, 129], f32[7, 129], f32[7]), T(64, 4, 4, 2, 1)),
    (Linear(f16[4, 256], f16[33, 256], None), T(16, 4, 4, 2, 2)),
    (Linear(bf16[2, 2, 520], bf16[19, 520], bf16[19]), T(128, 8, 1, 2, 1)),
    (Linear(f32[131], f32[5, 131], f32[5]), T(256, 8, 2, 1, 1)),
    (Linear(f64[7, 202], f64[2, 202], f64[2]), T(32, 4, 1, 1, 4)),
    (Matmul(f32[2, 256], f32[256, 40]), T(16, 4, 4, 2, 2)),
    (Matmul(f32[1, 7], f32[7, 41]), T(16, 8, 4, 1, 1)),
    (Matmul(f16[3, 130], f16[130, 48]), T(64, 8, 8, 1, 1)),
    (Matmul(f32[3, 2, 129], f32[3, 129, 33]), T(16, 8, 8, 1, 1)),
    (Matmul(f32[129, 7], f32[33, 129], True, True), T(16, 8, 2, 1, 4)),
    (Matmul(f16[2, 4, 1, 64], f16[1, 4, 64, 24]), T(16, 4, 4, 2, 1)),
]
WARPS = [
    (Linear(f16[1, 64], f16[9, 64], f16[9]), W(16, 4, 1, 1, 1)),
    (Linear(bf16[8, 264], bf16[33, 264], bf16[33]), W(32, 16, 2, 2, 1)),
    (Linear(f16[3, 136], f16[7, 136], None), W(16, 4, 1, 2, 2)),
    (Linear(f16[72], f16[5, 72], f16[5]), W(16, 8, 1, 1, 1)),
    (Matmul(f16[3, 257], f16[257, 40]), W(16, 4, 1, 2, 2)),
    (Matmul(bf16[5, 129], bf16[129, 88]), W(32, 8, 1, 1, 1)),
    (Matmul(f16[3, 7, 33], f16[3, 33, 8]), W(16, 4, 1, 1, 1)),
    (Matmul(f16[200, 6], f16[200, 16], True), W(16, 4, 1, 1, 4)),
]


def built(op, point):
    schedule = matmul_small_m if isinstance(point, T) else matmul_small_m_mma
    return schedule(op, TARGET, point).module


@pytest.mark.parametrize(("op", "point"), [*THREADS, *WARPS], ids=str)
def test_odd_sizes(op, point, is_right_simulated, check):
    assert point.fits(op, TARGET)
    assert from_json(type(point), to_json(point)) == point
    is_right_simulated(built(op, point), op, check)


@pytest.mark.parametrize("m", range(1, FEW + 1))
def test_as_many_rows_as_there_may_be(m, is_right_simulated, check):
    for op, point in [
        (Linear(f32[m, 37], f32[6, 37], f32[6]), T(32, 4, 4, 1, 1)),
        (Matmul(f32[m, 37], f32[37, 12]), T(32, 4, 4, 1, 1)),
        (Linear(f16[m, 40], f16[17, 40], f16[17]), W(16, 4, 1, 1, 1)),
    ]:
        is_right_simulated(built(op, point), op, check)


@pytest.mark.parametrize("size", [1, 33])
def test_sizes_known_at_run_time(size, is_right_simulated, check):
    for op, point in [
        (Linear(f32[2, K], f32[5, K], None), T(32, 4, 2, 2, 1)),
        (Linear(f16[2, 64], f16[K, 64], None), W(16, 4, 1, 1, 1)),
        (Matmul(f32[K, 3, 20], f32[K, 20, 8]), T(16, 4, 4, 1, 1)),
    ]:
        module = built(op, point)
        is_right_simulated(module, op.with_sizes(lambda of: size), check)


@pytest.mark.parametrize(
    ("op", "point"),
    [
        (Linear(f32[8, 256], f32[24, 256], None), T(64, 4, 4, 1, 1)),
        (Matmul(f32[8, 256], f32[256, 64]), T(32, 4, 4, 1, 2)),
        (Linear(f16[8, 256], f16[64, 256], None), W(16, 4, 2, 2, 1)),
        (Matmul(f16[8, 256], f16[256, 64]), W(16, 4, 1, 1, 4)),
    ],
    ids=str,
)
def test_each_element_of_b_is_read_once_by_whole_vectors(op, point):
    arrays, out = op.examples(seed=0), np.zeros(op.results()[0].shape, op.results()[0].dtype.numpy)
    report = sim.launch(as_run(built(op, point)), *arrays, out)
    read = [each for each in report.seen.values() if each.name == "b" and each.verb == "load"]
    assert sum(each.nbytes for each in read) == arrays[1].nbytes
    assert sum(each.sectors for each in read) == arrays[1].nbytes // 32
    assert sum(each.threads for each in read) == arrays[1].nbytes // 16


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 12, 32])
def test_every_sum_ends_in_one_group_of_lanes(count):
    lanes = LaneReduction(count, (1, 2, 4, 8, 16))
    halved = prod(2 for _, _, halved in lanes.steps if halved)
    assert lanes.held * halved == count


def test_reads_are_vectors_where_rows_allow():
    point = T()
    assert ThreadReading(product_of(Linear(f32[1, 64], f32[8, 64], None)), point).vector == 4
    assert ThreadReading(product_of(Linear(f16[1, 100], f16[8, 100], None)), point).vector == 4
    assert ThreadReading(product_of(Matmul(f16[1, 64], f16[64, 50257])), point).vector == 1
    assert WarpReading(product_of(Matmul(f16[1, 64], f16[64, 40])), W()).vector == 8


def fastest(op, target=TARGET):
    return choices(op, target)[0].schedule.name


@pytest.mark.parametrize("m", [1, 8])
def test_the_cost_model_takes_them(m):
    assert fastest(Linear(f32[m, 4096], f32[4096, 4096], None)) == "matmul_small_m"
    assert fastest(Linear(f16[m, 4096], f16[4096, 4096], None)).startswith("matmul_small_m")
    assert fastest(Matmul(f32[m, 768], f32[768, 3072])) == "matmul_small_m"
    assert fastest(Linear(f16[m, 768], f16[50257, 768], None), OLDER).startswith("matmul_small_m")
    assert not fastest(Linear(f16[16, 4096], f16[4096, 4096], None)).startswith("matmul_small_m")


def test_options_are_heard():
    op = Linear(f16[4, 256], f16[256, 256], None)
    with options(mma="simt"):
        assert not any(each.schedule.name.endswith("mma") for each in choices(op, TARGET))
    few = [each for each in candidates(op, OLDER) if "small_m" in each.schedule.name]
    assert {each.point.slices for each in few} == {1}  # it has no clusters


@pytest.mark.parametrize(
    "point", [("matmul_small_m", T(32, 4, 4, 1, 1)), ("matmul_small_m_mma", W(16, 4, 1, 2, 1))]
)
def test_what_is_fused_is_in_the_one_kernel(point, is_one_kernel):
    """A function ahead, a weight in parts of its own, a bias, a residual and a function behind."""
    x, w, bias, residual = (
        symbol(shape, "float16") for shape in ((3, 128), (40, 128), (40,), (3, 40))
    )
    y = ops.linear(ops.relu(x), w * 0.5, bias)
    is_one_kernel(trace_from([ops.tanh(y) + residual], [x, w, bias, residual]), *point)


@pytest.mark.gpu
@pytest.mark.parametrize(("op", "point"), [*THREADS, *WARPS], ids=str)
def test_on_a_gpu(op, point, is_right_on_the_gpu, check):
    is_right_on_the_gpu(built(op, point), op, check)
