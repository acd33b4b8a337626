"""Products of float32 by three products of tf32: how near to float64, and what has no parts."""

from functools import cache

import numpy as np
import pytest

from hidet import sim
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.windows.conv import Conv
from hidet.options import options
from hidet.schedules.base import SCHEDULES, candidates
from hidet.target import Target
from hidet.types import f16, f32

TARGET = Target.parse("sm_90a")
WARPS, GROUPS = ((32, 64), 32, (1, 2)), ((64, 64), 32, (4, 1))
POINTS = {
    "matmul_single": (*WARPS, 1),
    "matmul_wgmma_single": (*GROUPS, 1),
    "conv_single": (*WARPS, 1),
    "conv_wgmma_single": (*GROUPS, 1),
}
PRODUCTS = [
    Matmul(f32[33, 129], f32[129, 70]),
    Matmul(f32[2, 41, 40], f32[2, 7, 41], True, True),
    Matmul(f32[3, 1, 2], f32[3, 2, 67]),
    Linear(f32[7, 131], f32[67, 131], f32[67]),
]
PADDED = ((1, 1), (1, 0))
CONVOLUTIONS = [
    Conv(f32[2, 5, 9, 7], f32[24, 5, 3, 3], f32[24], (2, 1), PADDED, (1, 2), 1),
    Conv(f32[1, 6, 7, 7], f32[8, 3, 3, 3], f32[8], (1, 1), PADDED, (1, 1), 2),
    Conv(f32[1, 37, 5, 5], f32[67, 37, 1, 1], None, (1, 1), ((0, 0), (0, 0)), (1, 1), 1),
]
CASES = [
    (name, op)
    for name in POINTS
    for op in (PRODUCTS if name.startswith("matmul") else CONVOLUTIONS)
]


def multiplied(name, op, arrays):
    found = sim.empty(op.infer().shape, f32)
    sim.launch(built(name, op), *arrays, found)
    return np.asarray(found)


@cache
def built(name, op):
    """The kernels of a schedule."""
    schedule = next(each for each in SCHEDULES if each.name == name)
    point = schedule.space(*POINTS[name])
    assert schedule.when(op, TARGET)
    assert point.fits(op, TARGET)
    return schedule.build(op, TARGET, point).module


@pytest.mark.parametrize(("name", "op"), CASES, ids=str)
def test_as_near_to_float64_as_float32(name, op):
    arrays = op.examples(seed=0)
    found = multiplied(name, op, arrays).astype(np.float64)
    missing = [None] * (len(op.operands()) - len(arrays))
    exact = op.reference(*[np.asarray(a, np.float64) for a in arrays], *missing)
    usual = op.reference(*[np.asarray(a, np.float32) for a in arrays], *missing)
    error, theirs = (np.linalg.norm(y.astype(np.float64) - exact) for y in (found, usual))
    assert error <= 2 * theirs + 1e-7 * np.linalg.norm(exact)


LARGEST = np.finfo(np.float32).max


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, LARGEST, -LARGEST], ids=str)
@pytest.mark.parametrize("name", ["matmul_single", "matmul_wgmma_single"])
def test_what_has_no_two_parts_is_multiplied_as_it_is(name, special):
    op = Linear(f32[3, 40], f32[65, 40], None)
    x, weight = (np.array(a) for a in op.examples(seed=0))
    x[1, 33], weight[2, 33], weight[3, 33], weight[64, 33] = special, 1.0, 0.0, -0.5
    found = multiplied(name, op, [x, weight])
    with np.errstate(invalid="ignore", over="ignore"):
        wanted = op.reference(x.astype(np.float64), weight.astype(np.float64), None)
        wanted = wanted.astype(np.float32)
    assert np.isnan(found[1, 3]) == (not np.isfinite(special))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_a_number_that_is_no_number_in_any_bit_stays_none():
    op = Linear(f32[3, 40], f32[65, 40], None)
    x, weight = (np.array(a) for a in op.examples(seed=0))
    x.view(np.uint32)[:, 5] = 0x7FFFFFFF, 0x7F800001, 0xFF800001
    for name in ("matmul_single", "matmul_wgmma_single"):
        assert np.isnan(multiplied(name, op, [x, weight])).all()


def test_small_numbers_keep_an_absolute_precision():
    op = Matmul(f32[9, 40], f32[40, 7])
    a, b = (np.array(each) for each in op.examples(seed=0))
    for scale, limit in ((1e-30, 1e-6), (1e-36, 1e-4), (1e-39, 1e-1)):
        exact = op.reference((a * np.float32(scale)).astype(np.float64), b.astype(np.float64))
        found = multiplied("matmul_single", op, [a * np.float32(scale), b])
        assert np.linalg.norm(found - exact) <= limit * np.linalg.norm(exact)


def best(op, arch="sm_90a", **settings):
    with options(**settings):
        return candidates(op, Target.parse(arch))[0].schedule.name


def test_chosen_where_tensor_cores_are_fast_and_full_precision_is_asked_for():
    op = Linear(f32[128, 768], f32[3072, 768], f32[3072])
    assert "single" in best(op)
    assert "single" in best(op, "sm_80")
    assert best(op, "sm_120") == best(op, mma="simt") == "matmul_simt"
    assert best(op, tf32=True) == "matmul_tf32"
    assert "single" not in best(Linear(f16[128, 768], f16[768, 768], None))
