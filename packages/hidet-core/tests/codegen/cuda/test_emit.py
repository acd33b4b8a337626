import re
import subprocess
import sys

import pytest

from hidet.codegen.cuda import emit, unit, written
from hidet.errors import InternalError
from hidet.ir.expr import Address, Builtin, Const, Lane, Load, Pack, Reinterpret, Splat, Var, select
from hidet.ir.functions import call
from hidet.ir.kernel import Kernel, KernelKind, Launch
from hidet.ir.stmt import (
    Assert,
    Assign,
    Break,
    Declare,
    For,
    If,
    Invoke,
    LoopKind,
    Print,
    Put,
    Return,
    Store,
    While,
)
from hidet.types import PointerType, Scope, VectorType, bf16, f8e4m3, f16, f32, i32, u8

ONE = Const(1, i32)
THREAD, BLOCK = Builtin("threadIdx.x"), Builtin("blockIdx.x")


def launch(threads, **more):
    return Launch((Const(4, i32), ONE, ONE), (Const(threads, i32), ONE, ONE), **more)


def scale_rows():
    """Vector loads and stores around arithmetic in float32, guarded at the end."""
    x, y, n = Var("x", ~f16), Var("y", ~f16), Var("n", i32)
    start, v = Var("start", i32), Var("v", VectorType(f16, 8))
    wide = v.cast(f32) * 2.0 + 1.0
    return Kernel(
        "scale_rows",
        (x, y, n),
        (
            Declare(start, (BLOCK * 128 + THREAD) * 8),
            If(start >= n, (Return(),)),
            Declare(v, Load(x, (start,), 8)),
            Store(y, (start,), call("tanh", wide).cast(f16)),
        ),
        launch=launch(128, min_blocks=2),
    )


def block_sum():
    """A reduction in shared memory, with barriers and a loop on a condition."""
    x, y, n = Var("x", ~f32), Var("y", ~f32), Var("n", i32)
    buffer = Var("buffer", f32[256].with_(scope=Scope.SHARED))
    total, i, step = Var("sum", f32), Var("i", i32), Var("step", i32)
    index = i * 256 + THREAD
    return Kernel(
        "block_sum",
        (x, y, n),
        (
            Declare(buffer),
            Declare(total, Const(0.0, f32)),
            For(i, (n + 255) // 256,
                (Assign(total, total + select(index < n, Load(x, (index,)), 0.0)),)),
            Store(buffer, (THREAD,), total),
            Invoke("syncthreads"),
            Declare(step, Const(128, i32)),
            While(step > 0, (
                If(step > THREAD, (
                    Store(buffer, (THREAD,),
                          Load(buffer, (THREAD,)) + Load(buffer, (THREAD + step,))),
                )),
                Invoke("syncthreads"),
                Assign(step, step // 2),
            )),
            If(THREAD.eq(0), (Store(y, (BLOCK,), Load(buffer, (Const(0, i32),))),)),
        ),
        launch=launch(256, cluster=(2, 1, 1)),
    )  # fmt: skip


def odds_and_ends():
    """What is left: dynamic shared memory, register arrays, pointers, assertions, printing."""
    x, y = Var("x", ~u8), Var("if", f32[64])
    arena = Var("arena", u8[65536].with_(scope=Scope.SHARED))
    part, registers = Var("part", PointerType(f16)), Var("r", f32[16].with_(scope=Scope.REGISTER))
    i, j, other = Var("i", i32), Var("i", i32), Var("bits", f32)
    eight = Var("eight", VectorType(f8e4m3, 16))
    half = Load(part, (THREAD,))
    return Kernel(
        "odds_and_ends",
        (x, y),
        (
            Declare(arena),
            Declare(part, Reinterpret(Address(arena, (Const(1024, i32),)), PointerType(f16))),
            Declare(registers, Const(-0.0, f32)),
            For(i, Const(16, i32), (Store(registers, (i,), half.cast(f32)),), LoopKind.UNROLL),
            For(j, Const(4, i32), (If(j.eq(2), (Break(),)),)),
            Declare(other, Reinterpret(Load(registers, (THREAD % 16,)).cast(i32), f32)),
            Declare(eight, Load(Reinterpret(x, PointerType(f8e4m3)), (THREAD * 16,), 16)),
            Store(y, (THREAD * 2,), Pack((Lane(eight, 3).cast(f32), other))),
            Store(part, (THREAD * 4,), Splat(half * half, 4)),
            Assert(THREAD < 1024, 'a "thread" is 100% outside'),
            Print("%d %f\n", (THREAD, half.cast(bf16))),
        ),
        launch=launch(32, shared_bytes=65536),
    )


@pytest.mark.parametrize("make", [scale_rows, block_sum, odds_and_ends])
def test_text(make, golden, compile_cuda):
    text = emit([make()])
    golden(text)
    compile_cuda(text)


def test_vectors_move_in_whole_words(compile_cuda):
    ptx = compile_cuda(emit([scale_rows()]))
    assert re.findall(r"(?:ld|st)\.global\S*v4", ptx) == ["ld.global.nc.v4", "st.global.v4"]
    assert "ld.global.nc.u16" not in ptx
    assert "st.global.u16" not in ptx


def loaded_where(of, lanes, zero=0.0):
    """A kernel that copies vectors of which those from 100 on are `zero`."""
    x, y, v = Var("x", ~of), Var("y", ~of), Var("v", VectorType(of, lanes))
    at = THREAD * lanes
    body = (
        Declare(v, Splat(Const(zero, of), lanes)),
        If(at < 100, (Assign(v, Load(x, (at,), lanes)),)),
        Store(y, (at,), v),
    )
    return emit([Kernel("guarded", (x, y), body, launch=launch(128))])


@pytest.mark.parametrize(("of", "lanes"), [(f16, 8), (f16, 2), (bf16, 4), (u8, 16)])
def test_narrow_elements_that_are_loaded_or_zero_are_whole_words(compile_cuda, of, lanes):
    zero = 0 if of is u8 else 0.0
    text = loaded_where(of, lanes, zero)
    assert f"{lanes}>(&x[(int)threadIdx.x * {lanes}], (int)threadIdx.x * {lanes} < 100);" in text
    compile_cuda(text)


def test_other_guarded_vectors_are_as_they_are():
    for text in (loaded_where(f32, 4), loaded_where(f16, 8, -0.0), loaded_where(f16, 8, 1.0)):
        assert "load_or_zero" not in text


def test_one_text_holds_several_kernels(compile_cuda):
    text = emit([scale_rows(), block_sum(), odds_and_ends()])
    assert compile_cuda(text).count(".visible .entry") == 3
    assert text.count("#include") == len(set(re.findall("#include.*", text)))


def test_loaded_parameters_are_constant_and_others_are_not():
    text = emit([scale_rows()])
    assert "(const f16 *__restrict__ x, f16 *y, int n)" in text


def test_what_may_be_overwritten_is_loaded_where_stores_are_seen(compile_cuda):
    kernel = scale_rows()
    function = written(kernel, {kernel.params[0]})
    assert "(f16 *x, f16 *y, int n)" in function.text
    ptx = compile_cuda(unit([function]))
    assert "ld.global.v4" in ptx
    assert ".nc" not in ptx


def test_text_is_the_same_in_every_process():
    code = (
        "import importlib.util as u, sys; s = u.spec_from_file_location('k', sys.argv[1]);"
        "m = u.module_from_spec(s); s.loader.exec_module(m);"
        "print(m.emit([m.scale_rows(), m.block_sum(), m.odds_and_ends()]))"
    )
    command = [sys.executable, "-c", code, __file__]
    texts = {
        subprocess.run(
            command, env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(texts) == 1


def test_two_kernels_of_one_name_are_refused():
    with pytest.raises(InternalError, match="2 kernels of one text are called `block_sum`"):
        emit([block_sum(), block_sum()])


def test_unlowered_statements_are_refused():
    x, i = Var("x", f32[4]), Const(0, i32)
    kernel = Kernel("k", (x,), (Put(x, (i,), Const(1.0, f32)),))
    with pytest.raises(InternalError, match="Put has no place in a lowered kernel"):
        emit([kernel])


def test_parallel_loops_and_unknown_intrinsics_are_refused():
    i = Var("i", i32)
    loop = For(i, Const(4, i32), (), LoopKind.PARALLEL)
    with pytest.raises(InternalError, match="parallel loop"):
        emit([Kernel("k", (), (loop,))])
    with pytest.raises(InternalError, match="no intrinsic 'teleport'"):
        emit([Kernel("k", (), (Invoke("teleport"),))])


def test_kinds_are_not_mixed():
    with pytest.raises(InternalError, match="`k` is a cpu kernel"):
        emit([Kernel("k", (), (), KernelKind.CPU)])


def test_static_shared_memory_has_a_limit():
    big = Var("big", u8[65536].with_(scope=Scope.SHARED))
    with pytest.raises(InternalError, match="place_shared"):
        emit([Kernel("k", (), (Declare(big),))])


def test_whole_accesses_of_what_is_loaded_once(compile_cuda):
    x, y = Var("x", ~f16), Var("y", ~f16)
    v, w = Var("v", VectorType(f16, 8)), Var("w", VectorType(f16, 4))
    body = (
        Declare(v, Load(x, (THREAD * 8,), 8)),
        Declare(w, Load(x, (THREAD * 4,), 4)),
        Store(y, (THREAD * 8,), v),
        Store(y, (THREAD * 4,), w),
    )
    text = emit([Kernel("k", (x, y), body, launch=launch(32), once=(x,))])
    assert text.count("load_once<f16, 8>(") == 1
    assert text.count("load<f16, 4>(") == 1
    compile_cuda(text)


def test_whole_accesses_of_what_lasts(compile_cuda):
    x, y = Var("x", ~f32), Var("y", ~f32)
    v = Var("v", VectorType(f32, 4))
    body = (Declare(v, Load(x, (THREAD * 4,), 4)), Store(y, (THREAD * 4,), v))
    kernel = Kernel("k", (x, y), body, launch=launch(32), lasting=(x,))
    assert emit([kernel]).count("load_lasting<float, 4>(&x[") == 1
    compile_cuda(emit([kernel]))


def test_of_what_is_loaded_early_nothing_is_promised():
    x, y = Var("x", ~f32), Var("y", ~f32)
    body = (Store(y, (THREAD,), Load(x, (THREAD,))),)
    assert "k(float *x, float *y)" in emit([Kernel("k", (x, y), body, early=(x,))])
