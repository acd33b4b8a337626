"""Hooks become loads and stores that stay inside."""

import pytest

from hidet.ir.expr import Builtin, Get, Var, select, wrap
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Declare, For, If, Put, Return
from hidet.passes.addresses.guard_bounds import guard_bounds
from hidet.types import f32, i32

THREAD, BLOCK = Builtin("threadIdx.x"), Builtin("blockIdx.x")
m, n = Var("m", i32), Var("n", i32)
x, y = Var("x", f32[m, 8]), Var("y", f32[m, 8])
i, j = Var("i", i32), Var("j", i32)


def lowered(kernels, *body, params=(x, y), threads=32, blocks=1):
    size = kernels.grid(blocks, threads=threads)
    return str(guard_bounds(Kernel("k", params, body, launch=size))).split("\n", 2)[2]


def test_what_is_certain_is_not_asked(kernels):
    body = For(i, m, (For(j, wrap(8), (Put(y, (i, j), Get(x, (i, j))),)),))
    assert "y[i, j] = x[i, j]" in lowered(kernels, body)
    assert "if" not in lowered(kernels, body)


def test_only_the_axis_that_needs_it_is_asked(kernels):
    found = lowered(kernels, Put(y, (THREAD, THREAD % 8), Get(x, (THREAD, THREAD % 8))))
    assert found == (
        "  if (threadIdx.x < m):\n"
        "    y[threadIdx.x, (threadIdx.x % 8)] = x[threadIdx.x, (threadIdx.x % 8)]"
    )


def test_a_load_that_may_be_outside_is_zero_there(kernels):
    found = lowered(kernels, Put(y, (wrap(0), wrap(0)), Get(x, (THREAD, wrap(7)))))
    assert "if (0 < m):" in found
    assert "= (x[threadIdx.x, 7] if (threadIdx.x < m) else 0.0)" in found


def test_negative_indices_are_outside(kernels):
    found = lowered(kernels, Put(y, (m - 1, THREAD % 8), Get(x, (m - 1, THREAD % 8 - 1))))
    assert "(0 <= ((threadIdx.x % 8) - 1))" in found
    assert "< 8" not in found


def test_cheap_conditions_come_first(kernels):
    found = lowered(kernels, Put(y, (BLOCK * 3 + THREAD, THREAD), wrap(1.0)), threads=64)
    assert found.startswith("  if ((threadIdx.x < 8) and (((blockIdx.x * 3) + threadIdx.x) < m)):")


def test_conditions_around_a_hook_are_used(kernels):
    put = Put(y, (THREAD, wrap(0)), Get(x, (THREAD, wrap(1))))
    assert lowered(kernels, If(m > THREAD, (put,))).count("if") == 1
    assert lowered(kernels, If(m <= THREAD, (Return(),)), put).count("if") == 1
    chosen = select(m > THREAD, Get(x, (THREAD, wrap(1))), 2.0)
    assert lowered(kernels, Declare(Var("s", f32), chosen)).count("if") == 1


def test_an_index_read_from_memory_is_guarded_too(kernels):
    at = Var("at", i32[4])
    got = Get(x, (Get(at, (THREAD,)), wrap(0)))
    found = lowered(kernels, Declare(Var("s", f32), got), params=(x, at))
    assert "(at[threadIdx.x] if (threadIdx.x < 4) else 0)" in found
    assert "(0 <= (at[threadIdx.x] if" in found


@pytest.mark.parametrize("rows", [1, 5, 32, 40])
def test_same_meaning(kernels, agree, rows):
    shifted = Get(x, (THREAD + BLOCK * 32 - 2, 7 - THREAD % 8 - 1)) + Get(x, (THREAD, THREAD % 9))
    body = (Put(y, (THREAD + BLOCK * 32 - 1, THREAD % 10), shifted),)
    kernel = Kernel("k", (x, y), body, launch=kernels.grid(2, threads=32))
    agree(kernel, [(rows, 8), (rows, 8)], [guard_bounds], m=rows)
