"""Bytes become float32 by their bits, which is exact: every byte, with every zero point."""

import ctypes

import numpy as np
import pytest

from hidet.codegen.cuda import emit
from hidet.codegen.cuda.prelude import prelude
from hidet.ir.expr import Builtin, Cast, Const, Load, Var
from hidet.ir.kernel import Kernel, Launch
from hidet.ir.stmt import Store
from hidet.toolchain import compile_cpp
from hidet.types import f32, i8, i16, i32, u8

HOST = """
extern "C" void floats(const u8 *x, const float *zero, float *of_u8, float *of_i8, int n) {
  for (int i = 0; i < n; ++i) {
    of_u8[i] = byte_to_float(x[i], zero[i]);
    of_i8[i] = byte_to_float((i8)x[i], zero[i]);
  }
}
"""


def test_every_byte_less_every_zero_point(tmp_path):
    functions = prelude({"byte_to_float"}).replace("static __device__ __forceinline__", "static")
    made = compile_cpp(f"#include <cstring>\n{functions}{HOST}", flags=("-std=c++17", "-O2"))
    (tmp_path / "floats.so").write_bytes(made)
    x, zero = map(np.ravel, np.meshgrid(np.arange(256), np.arange(-255, 256)))
    x, zero = x.astype(np.uint8), zero.astype(np.float32)
    found = np.empty((2, x.size), np.float32)
    arrays = (ctypes.c_void_p(each.ctypes.data) for each in (x, zero, found[0], found[1]))
    ctypes.CDLL(str(tmp_path / "floats.so")).floats(*arrays, x.size)
    np.testing.assert_array_equal(found[0], x - zero)
    np.testing.assert_array_equal(found[1], x.view(np.int8) - zero)


def text(of, value):
    x, y, at = Var("x", ~of), Var("y", ~f32), Builtin("threadIdx.x")
    one = Const(1, i32)
    threads = Launch((one, one, one), (Const(64, i32), one, one))
    return emit([Kernel("k", (x, y), (Store(y, (at,), value(Load(x, (at,)))),), launch=threads)])


@pytest.mark.parametrize("of", [u8, i8], ids=str)
def test_no_integer_is_converted(compile_cuda, of):
    for zero in (0, 7, -255):
        ptx = compile_cuda(text(of, lambda e, zero=zero: Cast(Cast(e, i32) - zero, f32)))
        assert "cvt.rn" not in ptx
    assert "cvt.rn" not in compile_cuda(text(of, lambda e: Cast(Cast(e, i32), f32)))


def test_what_is_no_byte_less_a_small_number_is():
    assert "byte_to_float" not in text(i16, lambda e: Cast(Cast(e, i32) - 7, f32))
    assert "byte_to_float" not in text(u8, lambda e: Cast(Cast(e, i32) - 300, f32))
