"""Kernels for CPUs on NaN and infinities, beside numpy."""

import numpy as np
import pytest

from hidet import ops
from hidet.graph import apply
from hidet.ops.reductions.cumulative import CumMax, CumMin
from hidet.target import Target
from hidet.types import f16, f32

OPTIMIZED = ("-O3", "-fopenmp-simd")
CPU = Target.parse("cpu+avx512")


def test_every_float16_is_tested_by_its_bits(made, compile_modules):
    x = np.arange(2**16, dtype=np.uint16).view(np.float16)
    tests = ((ops.isnan, np.isnan), (ops.isinf, np.isinf), (ops.isfinite, np.isfinite))
    for function, numpy in tests:
        found = made(lambda x, function=function: function(x), f16[2**16], target=CPU)
        y = np.zeros(2**16, bool)
        compile_modules([found.module], *OPTIMIZED)(0, x, y)
        np.testing.assert_array_equal(y, numpy(x))


def test_infinities_beside_the_image_do_not_count(made, compile_modules):
    """Nor what lies where a place that is left out was brought to."""
    found = made(lambda x, at: ops.grid_sample(x, at), f32[2, 4, 6, 9], f32[2, 8, 9, 2], target=CPU)
    x = np.full((2, 4, 6, 9), np.inf, np.float32)
    at = np.full((2, 8, 9, 2), 7.0, np.float32)
    y = np.full((2, 4, 8, 9), 77, np.float32)
    compile_modules([found.module], *OPTIMIZED)(0, x, at, y)
    assert not y.any()


@pytest.mark.parametrize("n", [15, 64, 67, 331])
def test_extremes_so_far_of_a_row_with_nan_and_infinities(made, compile_modules, n):
    x = np.random.default_rng(0).normal(size=(4, n)).astype(np.float32)
    x[0, 9], x[1, n - 1], x[2], x[3, :14] = np.nan, np.nan, np.inf, -np.inf
    for kind, numpy in ((CumMax, np.maximum), (CumMin, np.minimum)):
        found = made(lambda x, kind=kind: apply(kind, x, axis=1), f32[4, n], target=CPU)
        y = np.zeros_like(x)
        compile_modules([found.module], *OPTIMIZED)(0, x, y)
        np.testing.assert_array_equal(y, numpy.accumulate(x, axis=1))
