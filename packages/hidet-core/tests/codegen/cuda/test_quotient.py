"""The quotient that CUDA computes without dividing is, bit by bit, the one that division gives."""

import ctypes

import numpy as np
import pytest

from hidet.codegen.cuda import emit
from hidet.codegen.cuda.prelude import prelude
from hidet.ir.expr import Builtin, Const, Load, Math, Var, constant
from hidet.ir.functions import QUOTIENT
from hidet.ir.kernel import Kernel, Launch
from hidet.ir.stmt import Store
from hidet.toolchain import compile_cpp
from hidet.types import f32, i32, u8

HOST = """\
#include <cmath>
#include <cstring>
using std::fabs;
extern "C" void quotients(const float *x, const float *scale, const float *low, const float *high,
                          int *whole, float *real, int n) {
  for (int i = 0; i < n; ++i) {
    whole[i] = rounded_quotient(x[i], scale[i], low[i], high[i]);
    real[i] = rounded_quotient_float(x[i], scale[i], low[i], high[i]);
  }
}
"""


@pytest.fixture(scope="module")
def quotients(tmp_path_factory):
    """The functions of CUDA's prelude, compiled for the host."""
    used = {"rounded_quotient", "rounded_quotient_float"}
    functions = prelude(used).replace("static __device__ __forceinline__", "static inline")
    head, _, rest = HOST.partition("extern")
    path = tmp_path_factory.mktemp("quotient") / "quotients.so"
    flags = ("-std=c++17", "-O2", "-ffp-contract=off")
    path.write_bytes(compile_cpp(f"{head}{functions}extern{rest}", flags=flags))
    function = ctypes.CDLL(str(path)).quotients

    def compute(x, scale, low, high):
        shape = np.broadcast_shapes(*(np.shape(each) for each in (x, scale, low, high)))
        given = [
            np.ascontiguousarray(np.broadcast_to(np.asarray(each, np.float32), shape))
            for each in (x, scale, low, high)
        ]
        whole, real = np.empty(shape, np.int32), np.empty(shape, np.float32)
        function(*(ctypes.c_void_p(each.ctypes.data) for each in (*given, whole, real)), whole.size)
        np.testing.assert_array_equal(real, whole)
        return whole

    return compute


def same(quotients, x, scale, low, high):
    expected = QUOTIENT.numpy(
        np.asarray(x, np.float32), np.asarray(scale, np.float32), np.float32(low), np.float32(high)
    )
    np.testing.assert_array_equal(quotients(x, scale, low, high), expected)


def test_special_numbers(quotients):
    tiny, huge = np.float32(2.0**-149), np.finfo(np.float32).max
    ends = [np.nextafter(np.float32(2.0**e), np.float32(to)) for e in (-60, 60) for to in (0, huge)]
    special = [0.0, 1.0, 0.5, 127.5, tiny, 2.0**-126, 2.0**-125, 2.0**125, huge, np.inf, *ends]
    special = np.array([*special, *(-each for each in special), np.nan], np.float32)
    for low, high in ((0, 255), (-128, 127), (-255, 0), (0, 0), (-1, 254), (-256, 256)):
        same(quotients, special[:, None], special, low, high)


def near(of, steps):
    """The float32 so many steps from others."""
    return (of.astype(np.float32).view(np.int32) + steps).view(np.float32)


def test_next_to_ties_at_any_scale(quotients):
    random = np.random.default_rng(0)
    scale = random.integers(0, 2**32, 3_000_000, dtype=np.uint32).view(np.float32)
    ties = random.integers(-520, 520, scale.size) / 2
    with np.errstate(all="ignore"):
        x = near(scale * ties, random.integers(-3, 4, scale.size, dtype=np.int32))
    for low, high in ((0, 255), (-128, 127), (-256, 256)):
        same(quotients, x, scale, low, high)


def test_any_bits(quotients):
    random = np.random.default_rng(1)
    x, scale = random.integers(0, 2**32, (2, 1_000_000), dtype=np.uint32).view(np.float32)
    same(quotients, x, scale, -100, 155)


@pytest.mark.parametrize("tie", [0.5, 1.5, 63.5, 127.5, 255.5])
def test_where_the_quotient_nearly_is_between_two_floats(quotients, tie):
    """What is next to where division begins to give a tie: for scales throughout one to two."""
    scale = (np.arange(2**23 - 2**19, 2**23, dtype=np.int32) + 0x3F800000).view(np.float32)
    scale = np.concatenate([scale, near(scale, -(2**22))])
    for end in (0.0, 1e9):
        edge = (tie + float(np.nextafter(np.float32(tie), np.float32(end)))) / 2
        for step in (-1, 0, 1):
            same(quotients, near(edge * scale.astype(np.float64), step), scale, -256, 256)


def test_a_constant_scale_takes_no_division(compile_cuda):
    x, y, at = Var("x", ~f32), Var("y", ~u8), Builtin("threadIdx.x")
    numbers = (constant(each, f32) for each in (0.37, 0.0, 255.0))
    value = Math(QUOTIENT.name, (Load(x, (at,)), *numbers), i32).cast(u8)
    one = Const(1, i32)
    threads = Launch((one, one, one), (Const(64, i32), one, one))
    ptx = compile_cuda(emit([Kernel("k", (x, y), (Store(y, (at,), value),), launch=threads)]))
    assert not [each for each in ("div.", "rcp.", "cvt.r") if each in ptx]
