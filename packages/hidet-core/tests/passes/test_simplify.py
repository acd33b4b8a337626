"""Shorter programs of the same meaning."""

import pytest

from hidet.ir.expr import Builtin, Load, Var, select, wrap
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import (
    Assert,
    Assign,
    Break,
    Declare,
    For,
    If,
    Invoke,
    Return,
    Store,
    While,
)
from hidet.passes.arithmetic.simplify import simplify
from hidet.types import f32, i32

THREAD, BLOCK = Builtin("threadIdx.x"), Builtin("blockIdx.x")
n = Var("n", i32)
x = Var("x", f32[64])
i, j, c = Var("i", i32), Var("j", i32), Var("c", i32)


def simple(kernels, *body, params=(x,)):
    kernel = Kernel("k", params, body, launch=kernels.grid(4, threads=8))
    return str(simplify(kernel)).split("\n", 2)[2]


def put(at, value=0.0):
    return Store(x, (wrap(at),), wrap(value))


def test_indices_use_loops_and_launch_sizes(kernels):
    body = For(i, wrap(4), (put((i * 8 + THREAD) // 8 + (i * 8 + THREAD) % 8 + BLOCK // 4),))
    assert simple(kernels, body) == "  for i in 4:\n    x[(i + threadIdx.x)] = 0.0"


def test_loops_of_no_or_one_iteration(kernels):
    assert simple(kernels, For(i, wrap(1), (put(i + 3),))) == "  x[3] = 0.0"
    assert simple(kernels, For(i, wrap(0), (put(i),)), put(1)) == "  x[1] = 0.0"
    assert "for" in simple(kernels, For(i, wrap(1), (If(THREAD < 2, (Break(),)), put(i))))


def test_decided_branches(kernels):
    assert simple(kernels, If(THREAD < 8, (put(1),), (put(2),))) == "  x[1] = 0.0"
    assert simple(kernels, If(THREAD > 7, (put(1),), (put(2),))) == "  x[2] = 0.0"
    assert simple(kernels, If(THREAD < 3, (If(THREAD < 5, (put(1),)),))) == (
        "  if (threadIdx.x < 3):\n    x[1] = 0.0"
    )
    assert simple(kernels, If(THREAD < 3, (), (put(1),))) == (
        "  if (3 <= threadIdx.x):\n    x[1] = 0.0"
    )
    assert simple(kernels, If(THREAD < 3, (), ())) == "  pass"


def test_what_is_left_early_implies_what_follows(kernels):
    found = simple(kernels, If(THREAD >= 4, (Return(),)), If(THREAD < 6, (put(1),)))
    assert found == "  if (4 <= threadIdx.x):\n    return\n  x[1] = 0.0"


def test_what_is_never_reached_is_dropped(kernels):
    assert simple(kernels, put(1), Return(), put(2)) == "  x[1] = 0.0\n  return"
    assert simple(kernels, While(wrap(1) < 0, (put(1),))) == "  pass"


def test_what_nothing_reads_is_dropped(kernels):
    s = Var("s", f32)
    assert simple(kernels, Declare(s, wrap(1.0)), Declare(j, i), Assign(s, s), params=(x, i)) == (
        "  pass"
    )


def test_names_for_names_and_numbers_vanish(kernels):
    assert simple(kernels, Declare(j, wrap(3)), put(j + 1)) == "  x[4] = 0.0"
    assert simple(kernels, Declare(j, THREAD), put(j)) == "  x[threadIdx.x] = 0.0"


def test_variables_that_are_assigned_are_left_alone(kernels):
    body = (
        Declare(c, wrap(0)),
        While(c < 4, (put(c), Assign(c, c + 1))),
        If(c < 4, (put(63),)),
    )
    found = simple(kernels, *body)
    assert "c: i32 = 0" in found
    assert "if (c < 4)" in found
    assert "while (c < 4)" in found


def test_results_of_intrinsics_are_not_constant(kernels):
    body = (Declare(c, wrap(0)), Invoke("shuffle", (), (c,)), put(c))
    assert "x[c] = 0.0" in simple(kernels, *body)


def test_memory_is_not_taken_to_stay(kernels):
    at = Var("at", i32[4])
    load = Load(at, (wrap(0),))
    body = If(load < 3, (Store(at, (wrap(0),), wrap(5)), If(load < 3, (put(1),))))
    assert simple(kernels, body, params=(x, at)).count("if (at[0] < 3)") == 2


def test_certain_assertions_vanish(kernels):
    assert simple(kernels, Assert(THREAD < 8, "never"), put(1)) == "  x[1] = 0.0"
    assert "assert" in simple(kernels, Assert(THREAD < 7, "maybe"))


def test_a_choice_knows_its_condition(kernels):
    value = select(THREAD < 4, select(THREAD < 6, wrap(1.0), 2.0), 3.0)
    assert simple(kernels, put(0, value)) == "  x[0] = (1.0 if (threadIdx.x < 4) else 3.0)"


def test_sizes_are_not_negative(kernels):
    kernel_params = (Var("y", f32[n]), x)
    assert simple(kernels, If(n >= 0, (put(1),)), params=kernel_params) == "  x[1] = 0.0"


@pytest.mark.parametrize("iterations", [0, 1, 3])
def test_same_meaning(kernels, agree, iterations):
    number = BLOCK * 8 + THREAD
    value = select(number % 4 < 2, (number // 4 * 4 + number % 4 + i).cast(f32), Load(x, (number,)))
    body = (
        Declare(j, number % 8),
        For(i, wrap(iterations), (If(j < 7, (Store(x, (number,), value),), (put(number, 1.0),)),)),
        Declare(c, wrap(0)),
        While(c < iterations, (Assign(c, c + 2),)),
        Store(x, (number + 32,), c.cast(f32)),
    )
    kernel = Kernel("k", (x,), body, launch=kernels.grid(4, threads=8))
    agree(kernel, [(64,)], [simplify])
