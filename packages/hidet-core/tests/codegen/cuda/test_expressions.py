"""Every operation and type compiles for a GPU; what it gives there is tested where there is one."""

import numpy as np
import pytest

from hidet.codegen.common.names import Names
from hidet.codegen.common.signs import Signs
from hidet.codegen.cuda import emit
from hidet.codegen.cuda.expressions import CudaExpressions
from hidet.errors import InternalError
from hidet.ir.expr import Add, Builtin, Const, FloorDiv, FloorMod, Load, Negate, Select, Var, select
from hidet.ir.functions import call
from hidet.ir.kernel import KernelKind
from hidet.types import PointerType, bf16, boolean, f8e4m3, f16, f32, f64, i8, i32, i64, u8, u32


@pytest.fixture
def spell():
    return CudaExpressions(Names(), Signs()).spell


def test_every_operation_compiles(operations, compile_cuda):
    kernels = operations(KernelKind.CUDA)
    ptx = compile_cuda(emit(kernels))
    assert ptx.count(".visible .entry") == len(kernels)


def test_constants_are_exact(spell):
    assert spell(Const(0.1, f32)) == "0.1f"
    assert spell(Const(-0.0, f32)) == "-0.0f"
    assert spell(Const(float("inf"), f32)) == "__int_as_float(0x7f800000)"
    assert spell(Const(float("-inf"), f64)) == "__longlong_as_double(0xfff0000000000000LL)"
    assert spell(Const(1.5, f16)) == "__ushort_as_half(0x3e00)"
    assert spell(Const(1.0, bf16)) == "__ushort_as_bfloat16(0x3f80)"
    assert spell(Const(1.0, f8e4m3)) == "bits<f8e4m3>((u8)0x38)"
    assert spell(Const(-(2**31), i32)) == "(-2147483647 - 1)"
    assert spell(Const(2**40, i64)) == "1099511627776LL"
    assert spell(Const(-(2**63), i64)) == "(-9223372036854775807LL - 1)"
    assert spell(Const(2**32 - 1, u32)) == "4294967295u"
    assert spell(Const(-5, i8)) == "(i8)(-5)"
    assert spell(Const(True, boolean)) == "true"
    assert np.float32(0.1) == np.float32(float("0.1"))


def test_operators_bind_as_written(spell):
    a, b = Var("a", i32), Var("b", i32)
    assert spell(a - (b - 1)) == "a - (b - 1)"
    assert spell(a - b - 1) == "a - b - 1"
    assert spell((a + b) * 2) == "(a + b) * 2"
    assert spell(Negate(Negate(a))) == "-(-a)"
    assert spell((a < b) & (b < 3) | (a < 1)) == "a < b & b < 3 || a < 1"
    assert spell(select(a < b, select(a < 1, a, b), b)) == "a < b ? (a < 1 ? a : b) : b"
    assert spell((a + b) >> 1) == "(a + b) >> 1"
    assert spell(a << 2 << b) == "a << 2 << b"
    assert spell(~(a < b)) == "!(a < b)"


def test_divisions_are_plain_only_where_signs_are_known(spell):
    a, t = Var("a", i32), Builtin("threadIdx.x")
    assert spell(t // 7) == "(int)threadIdx.x / 7"
    assert spell((t + 3) % 5) == "((int)threadIdx.x + 3) % 5"
    assert spell(a // 7) == "floor_div<int>(a, 7)"
    assert spell(a // 8) == "a >> 3"
    assert spell(a % 8) == "a & 7"
    assert spell(FloorDiv(Var("u", u32), Const(7, u32))) == "u / 7u"
    assert spell(FloorMod(a, Var("b", i32))) == "floor_mod<int>(a, b)"


def test_small_integers_wrap(spell):
    a = Var("a", u8)
    assert spell(Add(a, Const(1, u8))) == "(u8)(a + (u8)1)"


def test_small_floats_in_functions_round_once(spell):
    h = Var("h", f16)
    assert spell(call("exp", h)) == "(f16)expf((float)h)"
    assert spell(h * h + h) == "h * h + h"


def test_selection_reads_only_what_it_chooses(spell):
    x, i = Var("x", PointerType(f32)), Var("i", i32)
    guarded = Select(i < 4, Load(x, (i,)), Const(0.0, f32))
    assert spell(guarded) == "i < 4 ? x[i] : 0.0f"


def test_unlowered_indices_are_refused(spell):
    x, i = Var("x", f32[4, 4]), Var("i", i32)
    with pytest.raises(InternalError, match="indexed by 2 numbers"):
        spell(Load(x, (i, i)))


def test_unknown_builtins_are_refused(spell):
    with pytest.raises(InternalError, match="no builtin 'warpSpeed'"):
        spell(Builtin("warpSpeed"))
