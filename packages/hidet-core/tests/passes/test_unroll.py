"""Loops become their iterations."""

from hidet.ir.expr import Builtin, Var, wrap
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Break, Declare, For, If, LoopKind, Store
from hidet.ir.walk import introduced
from hidet.passes.loops.unroll import unroll
from hidet.types import f32, i32

x = Var("x", f32[64])
i, j, k, n = (Var(name, i32) for name in "ijkn")
THREAD = Builtin("threadIdx.x")


def text(*body, kind=KernelKind.CUDA):
    return str(unroll(Kernel("k", (x,), body, kind))).split("\n", 2 if kind == "cuda" else 1)[-1]


def put(at):
    return Store(x, (at,), wrap(0.0))


def test_iterations_in_order():
    assert text(For(i, wrap(3), (put(i),), LoopKind.UNROLL)) == (
        "  x[0] = 0.0\n  x[1] = 0.0\n  x[2] = 0.0"
    )


def test_nested_loops():
    inner = For(j, wrap(2), (put(i * 2 + j),), LoopKind.UNROLL)
    found = text(For(i, wrap(2), (inner,), LoopKind.UNROLL))
    assert found.splitlines()[-1] == "  x[((1 * 2) + 1)] = 0.0"
    assert len(found.splitlines()) == 4


def test_each_iteration_has_variables_of_its_own():
    body = (Declare(k, i + 1), For(j, wrap(9), (put(k + j),)))
    out = unroll(Kernel("k", (x,), (For(i, wrap(2), body, LoopKind.UNROLL),)))
    assert len(set(introduced(out.body))) == 4


def test_loops_that_cannot_be_written_out_become_serial():
    assert text(For(i, n, (put(i),), LoopKind.UNROLL)) == "  for i in n:\n    x[i] = 0.0"
    broken = For(i, wrap(4), (If(i < THREAD, (Break(),)), put(i)), LoopKind.UNROLL)
    assert text(broken).startswith("  for i in 4:\n")


def test_a_break_of_an_inner_loop_is_no_hindrance():
    inner = For(j, n, (Break(),))
    assert text(For(i, wrap(2), (inner,), LoopKind.UNROLL)).count("break") == 2


def test_vector_loops_are_left_to_the_cpu():
    loop = For(i, wrap(2), (put(i),), LoopKind.VECTOR)
    assert "# vector" in text(loop, kind=KernelKind.CPU)
    assert "for" not in text(loop)


def test_serial_loops_stay():
    kernel = Kernel("k", (x,), (For(i, wrap(2), (put(i),)),))
    assert unroll(kernel) is kernel


def test_same_meaning(kernels, agree):
    body = (Declare(k, i * 4 + THREAD), For(j, wrap(3), (put(k + j * 12),), LoopKind.UNROLL))
    loop = For(i, wrap(3), body, LoopKind.UNROLL)
    agree(Kernel("k", (x,), (loop,), launch=kernels.grid(threads=4)), [(64,)], [unroll])
