"""Every node prints as text."""

import pytest

from hidet.ir.expr import (
    Address,
    Builtin,
    Const,
    Get,
    Lane,
    Load,
    Maximum,
    Pack,
    Reinterpret,
    Splat,
    Var,
    select,
    wrap,
)
from hidet.ir.functions import call
from hidet.ir.kernel import Call, Kernel, KernelKind, Launch, Module, PdlTrigger, single
from hidet.ir.stmt import (
    Assert,
    Assign,
    Break,
    Continue,
    Declare,
    For,
    ForTasks,
    If,
    Invoke,
    LoopKind,
    Print,
    Put,
    Return,
    Store,
    While,
)
from hidet.mapping import spatial
from hidet.types import PointerType, Scope, TensorType, boolean, f16, f32, i32, i64

i, x, p = Var("i", i32), Var("x", f32), Var("p", boolean)
t = Var("t", f32[8, 4])


@pytest.mark.parametrize(
    ("e", "text"),
    [
        (i * 2 + 1, "((i * 2) + 1)"),
        (Const(1.0, f16), "1.0:f16"),
        (Const(7, i64), "7:i64"),
        (Const(True, boolean), "True"),
        (-x, "(-x)"),
        (~p, "(not p)"),
        (Maximum(x, x), "max(x, x)"),
        (i.cast(f32), "f32(i)"),
        (Reinterpret(x, i32), "bits(x, i32)"),
        (select(p, x, 0.0), "(x if p else 0.0)"),
        (call("exp", x), "exp(x)"),
        (Load(t, (i, i)), "t[i, i]"),
        (Load(t, (i, wrap(0)), 4), "t[i, 0:4]"),
        (Get(t, (i, i)), "t.get(i, i)"),
        (Address(t, (i, i)), "&t[i, i]"),
        (Pack((x, x)), "<x, x>"),
        (Splat(x, 4), "<x x 4>"),
        (Lane(Splat(x, 4), 2), "<x x 4>.2"),
        (Builtin("threadIdx.x"), "threadIdx.x"),
        (x % 2.0, "(x % 2.0)"),
    ],
)
def test_expressions(e, text):
    assert str(e) == text
    assert repr(e) == text


@pytest.mark.parametrize(
    ("s", "text"),
    [
        (Declare(i, wrap(0)), "i: i32 = 0"),
        (Declare(Var("s", TensorType(f32, (4,), Scope.SHARED))), "s: f32[4] shared"),
        (Declare(Var("q", PointerType(f32)), Address(t, (i, i))), "q: ~f32 = &t[i, i]"),
        (Assign(i, i + 1), "i = (i + 1)"),
        (Store(t, (i, i), x), "t[i, i] = x"),
        (Put(t, (i, i), x), "t.put(i, i, x)"),
        (Invoke("atomic_add", (i,), (i,), ("relaxed",)), "i = atomic_add(i) ('relaxed',)"),
        (For(i, wrap(4), (Return(),)), "for i in 4:\n  return"),
        (For(i, wrap(4), (), LoopKind.UNROLL), "for i in 4:  # unroll\n  pass"),
        (ForTasks((i,), spatial(4), i, (Return(),)), "for i in spatial(4) on i:\n  return"),
        (While(p, (Break(),)), "while p:\n  break"),
        (If(p, (Return(),), (Continue(),)), "if p:\n  return\nelse:\n  continue"),
        (Assert(p, "why"), "assert p, 'why'"),
        (Print("%d\n", (i,)), "print('%d\\n', i)"),
    ],
)
def test_statements(s, text):
    assert str(s) == text


def test_variables_of_one_name_are_told_apart():
    other = Var("i", i32)
    assert str(i + other * i) == "(i + (i_1 * i))"


def test_kernels_and_modules():
    few = Launch(
        min_blocks=2, max_blocks=3, shared_bytes=4, cluster=(2, 1, 1), pdl_trigger=PdlTrigger.START
    )
    kernel = Kernel("k", (t,), (), launch=few, once=(t,), lasting=(t,), early=(t,))
    assert str(kernel) == (
        "cuda kernel k(t: f32[8, 4]):\n"
        "  # grid (1, 1, 1), block (1, 1, 1), cluster (2, 1, 1), shared 4 bytes, "
        "at least 2 blocks, at most 3 blocks, lets the next begin at its start\n"
        "  # t loaded once\n"
        "  # t loaded lasting\n"
        "  # t loaded early\n"
        "  pass"
    )
    assert str(single(kernel)).splitlines()[:2] == ["module k(t: f32[8, 4]):", "  launch k(t)"]
    work = Module("m", (t,), (), (Call("k", (t,)),), (Var("w", f32[2]),))
    assert "  workspace w: f32[2]" in str(work)
    assert str(Kernel("c", (), (), KernelKind.CPU)) == "cpu kernel c():\n  pass"
