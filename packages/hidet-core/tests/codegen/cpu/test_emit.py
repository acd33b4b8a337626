import math
import subprocess

import numpy as np
import pytest

from hidet.codegen.cpu import emit
from hidet.errors import InternalError
from hidet.ir.expr import (
    Builtin,
    Cast,
    Const,
    Lane,
    Less,
    Load,
    Not,
    Pack,
    Select,
    Splat,
    Var,
    select,
)
from hidet.ir.functions import call
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import (
    Assert,
    Assign,
    Continue,
    Declare,
    For,
    If,
    Invoke,
    LoopKind,
    Return,
    Store,
    While,
)
from hidet.toolchain.host import compiler, run
from hidet.types import Scope, VectorType, bf16, boolean, f16, f32, i8, i32, i64

ZERO = Const(0, i32)


def cpu(name, params, *body):
    return Kernel(name, params, body, KernelKind.CPU)


def matmul():
    """Blocks of rows on threads, sixteen columns in a vector, accumulators in registers."""
    a, b, c = Var("a", ~f32), Var("b", ~f32), Var("c", ~f32)
    m, n, k = Var("m", i32), Var("n", i32), Var("k", i32)
    i, j, p = Var("i", i32), Var("j", i32), Var("p", i32)
    sums = [Var("sum", VectorType(f32, 16)) for _ in range(2)]
    row = lambda h: i * 2 + h
    line = Var("line", VectorType(f32, 16))
    inner = (
        Declare(line, Load(b, (p * n + j * 16,), 16)),
        *(Assign(s, s + Splat(Load(a, (row(h) * k + p,)), 16) * line) for h, s in enumerate(sums)),
    )
    return cpu(
        "matmul", (a, b, c, m, n, k),
        For(i, m // 2, (
            For(j, n // 16, (
                *(Declare(s, Splat(Const(0.0, f32), 16)) for s in sums),
                For(p, k, inner),
                *(Store(c, (row(h) * n + j * 16,), call("tanh", s)) for h, s in enumerate(sums)),
            ), LoopKind.PARALLEL),
        ), LoopKind.PARALLEL),
    )  # fmt: skip


def gelu():
    """An elementwise loop for vector lanes, with values that are used more than once."""
    x, y, n, i = Var("x", ~f16), Var("y", ~bf16), Var("n", i32), Var("i", i32)
    v = Load(x, (i,)).cast(f32)
    value = v * 0.5 * (call("erf", v * 0.70710678) + 1.0)
    return cpu("gelu", (x, y, n), For(i, n, (Store(y, (i,), value.cast(bf16)),), LoopKind.VECTOR))


def collatz():
    """Control flow on integers: loops on conditions, continue, early return, local arrays."""
    x, y, n = Var("x", ~i64), Var("y", ~i64), Var("n", i32)
    i, steps, value, j = Var("i", i32), Var("steps", i64), Var("value", i64), Var("j", i32)
    history = Var("history", i64[8].with_(scope=Scope.REGISTER))
    big = call("abs", value) % 1000003
    return cpu(
        "collatz", (x, y, n),
        If(n <= 0, (Return(),)),
        Declare(history, Const(-1, i64)),
        For(i, n, (
            Declare(value, Load(x, (i,))),
            Declare(steps, Const(0, i64)),
            If(value < 1, (Store(y, (i,), Const(-1, i64)), Continue())),
            While((big * big + big).ne(2), (
                Assign(value, select((value % 2).eq(0), value // 2, value * 3 + 1)),
                Assign(steps, steps + 1),
            )),
            Store(history, (i % 8,), steps),
            Assert(steps < 100000, "too many steps"),
            Store(y, (i,), steps),
        )),
        For(j, Const(4, i32), (Store(y, (j,), Load(y, (j,))),), LoopKind.UNROLL),
    )  # fmt: skip


def blend():
    """Vector selections, conversions and types that C++ has no vectors of."""
    x, y, z = Var("x", ~f32), Var("y", ~i8), Var("z", ~bf16)
    v, w = Load(x, (ZERO,), 8), Load(z, (ZERO,), 8)
    chosen = Select(Less(v, Splat(Const(0.0, f32), 8)), v * v, call("exp", v))
    masked = Select(Load(x, (ZERO,)) < 0.0, v, chosen)
    pack = Pack(tuple(Lane(v, 7 - lane) for lane in range(8)))
    return cpu(
        "blend", (x, y, z),
        Store(y, (ZERO,), Cast(Cast(v, i32), i8)),
        Store(z, (ZERO,), w + Cast(pack, bf16)),
        Store(x, (Const(8, i32),), masked),
        Store(x, (Const(16, i32),), Cast(Less(v, pack), f32)),
    )  # fmt: skip


KERNELS = [matmul, gelu, collatz, blend]


@pytest.fixture(scope="module")
def library(compile_cpp):
    return compile_cpp(emit([make() for make in KERNELS]), "-O3", "-march=native")


@pytest.mark.parametrize("make", KERNELS)
def test_text(make, golden):
    golden(emit([make()]))


def test_matmul(library):
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=shape).astype(np.float32) for shape in ((6, 40), (40, 48)))
    c = np.zeros((6, 48), np.float32)
    library("matmul", a, b, c, 6, 48, 40)
    np.testing.assert_allclose(c, np.tanh(a @ b), rtol=1e-5, atol=1e-5)


def test_gelu(library):
    x = np.linspace(-6, 6, 1001).astype(np.float16)
    y = np.zeros(1001, bf16.numpy)
    library("gelu", x, y, 1001)
    exact = [v * 0.5 * (1 + math.erf(v / 2**0.5)) for v in x.astype(float)]
    np.testing.assert_allclose(y.astype(np.float64), exact, rtol=2.0**-8, atol=1e-6)


def test_control_flow(library):
    x = np.array([1, 6, 7, 27, -3, 97], np.int64)
    y = np.zeros_like(x)
    library("collatz", x, y, 6)
    assert y.tolist() == [0, 8, 16, 111, -1, 118]


def test_vectors(library):
    x = np.zeros(24, np.float32)
    x[:8] = v = np.array([1.5, -2.25, 3, -4, 300, 0.0, -0.0, 7], np.float32)
    y, z = np.zeros(8, np.int8), np.arange(8).astype(bf16.numpy)
    library("blend", x, y, z)
    with np.errstate(over="ignore"):
        expected = np.where(v < 0, v * v, np.exp(v))
    assert y.tolist() == v.astype(np.int32).astype(np.int8).tolist()
    assert (z == (np.arange(8) + v[::-1]).astype(bf16.numpy)).all()
    np.testing.assert_allclose(x[8:16], expected, rtol=3e-7)
    assert x[16:].tolist() == (v < v[::-1]).astype(np.float32).tolist()


def test_compilers_find_nothing_to_warn_of(operations, tmp_path):
    source = tmp_path / "kernels.cpp"
    source.write_text(emit([*operations(KernelKind.CPU), *(make() for make in KERNELS)]))
    warnings = ["-Wall", "-Wextra", "-Wno-psabi", "-Wno-unused-parameter", "-fopenmp-simd"]
    command = [*compiler(), "-std=c++17", "-fsyntax-only", *warnings, str(source)]
    assert run(command) == (0, "")


def test_failed_assertion_says_why_and_stops(compile_cpp, tmp_path):
    n = Var("n", i32)
    text = emit([cpu("k", (n,), Assert(n < 3, 'n is "100%" too big'))])
    source = tmp_path / "k.cpp"
    source.write_text(text + "\nint main(int n, char **) { k(2); k(n + 3); }\n")
    subprocess.run(["g++", str(source), "-o", str(tmp_path / "k")], check=True)
    done = subprocess.run([str(tmp_path / "k")], capture_output=True, text=True)
    assert done.returncode < 0
    assert done.stderr == 'n is "100%" too big\n'


def test_dependent_iterations_are_not_marked_for_vectors():
    x, i, total = Var("x", ~f32), Var("i", i32), Var("total", f32)
    loop = For(i, Const(8, i32), (Assign(total, total + Load(x, (i,))),), LoopKind.VECTOR)
    text = emit([cpu("k", (x,), Declare(total, Const(0.0, f32)), loop, Store(x, (ZERO,), total))])
    assert "simd" not in text


def test_inner_parallel_loops_that_depend_on_outer_ones_stay_serial():
    x, i, j = Var("x", ~f32), Var("i", i32), Var("j", i32)
    inner = For(j, i + 1, (Store(x, (i * 9 + j,), Const(1.0, f32)),), LoopKind.PARALLEL)
    text = emit([cpu("k", (x,), For(i, Const(9, i32), (inner,), LoopKind.PARALLEL))])
    assert text.count("  parallel(") == 1
    assert "for (int j = 0; j < i + 1; ++j)" in text


def test_extents_are_computed_once(compile_cpp):
    x, i, n = Var("x", ~i32), Var("i", i32), Var("n", i32)
    loop = For(i, n, (Assign(n, n - 1), Store(x, (i,), n)))
    library = compile_cpp(emit([cpu("k", (x,), Declare(n, Load(x, (ZERO,))), loop)]))
    data = np.array([4, 9, 9, 9, 9], np.int32)
    library("k", data)
    assert data.tolist() == [3, 2, 1, 0, 9]


def test_shared_values_keep_the_text_small():
    x = Var("x", ~f32)
    value = Load(x, (ZERO,))
    for _ in range(200):
        value = value * value + value
    text = emit([cpu("k", (x,), Store(x, (ZERO,), value))])
    assert len(text) < 20_000


def test_what_has_no_meaning_on_a_cpu_is_refused():
    big = Var("big", f32[20000].with_(scope=Scope.SHARED))
    with pytest.raises(InternalError, match="workspace"):
        emit([cpu("k", (), Declare(big))])
    with pytest.raises(InternalError, match="'syncthreads' has no meaning"):
        emit([cpu("k", (), Invoke("syncthreads"))])
    with pytest.raises(InternalError, match="no builtin"):
        emit([cpu("k", (), If(Builtin("threadIdx.x") < 1, ()))])
    with pytest.raises(InternalError, match="`k` is a cuda kernel"):
        emit([Kernel("k", (), ())])


def test_flags_in_memory_are_negated_as_bytes():
    x, y, j = Var("x", ~boolean), Var("y", ~boolean), Var("j", i32)
    negated = Store(y, (j,), Not(Load(x, (j,))))
    text = emit([cpu("negate", (x, y), For(j, Const(7, i32), (negated,), LoopKind.VECTOR))])
    assert "y[j] = !((const unsigned char *)(x))[j];" in text


def looked_up(kind):
    """y[j] = table[place[j]] for 64 j."""
    table, place, y = Var("table", ~f32), Var("place", ~i32), Var("y", ~f32)
    j, at = Var("j", i32), Var("at", i32)
    body = (Declare(at, Load(place, (j,))), Store(y, (j,), Load(table, (at + 1,))))
    return cpu("looked_up", (table, place, y), For(j, Const(64, i32), body, kind))


def test_what_vectors_look_up_is_gathered_by_instructions():
    tuning = '#pragma GCC target("tune=haswell")'
    assert tuning in emit([looked_up(LoopKind.VECTOR)])
    assert tuning not in emit([looked_up(LoopKind.SERIAL)])
    assert tuning not in emit([matmul()])


def test_what_is_looked_up_is_right(compile_cpp):
    table = np.arange(80, dtype=np.float32)
    place = np.random.default_rng(0).integers(0, 79, 64).astype(np.int32)
    y = np.zeros(64, np.float32)
    library = compile_cpp(emit([looked_up(LoopKind.VECTOR)]), "-O3", "-fopenmp-simd")
    library("looked_up", table, place, y)
    np.testing.assert_array_equal(y, table[place + 1])
