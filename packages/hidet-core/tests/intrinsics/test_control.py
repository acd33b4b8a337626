"""Barriers, fences, dependent launches, the clock: their text, and what concerns no values."""

import numpy as np
import pytest

from hidet.codegen import cpu
from hidet.errors import BadKernel, DtypeMismatch, InternalError
from hidet.intrinsics import BUILTINS, INTRINSICS, builtin
from hidet.ir.expr import Address, Builtin, Const, Var
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Declare, Invoke, Store
from hidet.sim import launch
from hidet.types import f32, i32, i64, u32

THREAD = Builtin("threadIdx.x")
CALLS = (
    Invoke("syncthreads"),
    Invoke("syncwarp"),
    Invoke("barrier_sync", (), (), (1, 32)),
    Invoke("barrier_arrive", (), (), (2, 64)),
    Invoke("threadfence", (), (), ("block",)),
    Invoke("threadfence", (), (), ("gpu",)),
    Invoke("griddepcontrol_wait"),
    Invoke("griddepcontrol_launch_dependents"),
)


def timed(block):
    y, before, after = Var("y", ~i64), Var("before", i64), Var("after", i64)
    body = (
        *CALLS,
        Invoke("prefetch", (Address(y, (THREAD,)),), (), ("L2",)),
        Declare(before),
        Invoke("clock", (), (before,)),
        Declare(after),
        Invoke("clock", (), (after,)),
        Store(y, (THREAD,), after - before),
    )
    return block((y,), body)


def test_text_compiles(block, assembled):
    text = assembled(timed(block))
    assert "griddepcontrol.wait" in text
    assert "bar.sync 1, 32" in text


def test_cpus_prefetch_by_the_builtin_of_compilers():
    x = Var("x", f32[64,])
    for cache, text in (("L1", "&x[40]);"), ("L2", "&x[40], 0, 2);")):
        hint = Invoke("prefetch", (Address(x, (Const(40, i32),)),), (), (cache,))
        kernel = Kernel("k", (x,), (hint,), KernelKind.CPU)
        assert f"__builtin_prefetch({text}" in cpu.emit([kernel])


def test_cpus_have_no_barriers():
    kernel = Kernel("k", (), (Invoke("syncthreads"),), KernelKind.CPU)
    with pytest.raises(InternalError, match="syncthreads"):
        cpu.emit([kernel])


def test_the_clock_goes_on(block):
    out = np.zeros(32, np.int64)
    launch(timed(block), out)
    assert (out > 0).all()


def test_every_intrinsic_is_described():
    for name, intrinsic in INTRINSICS.items():
        assert intrinsic.name == name
        assert "PTX ISA" in intrinsic.doc


def test_effects_name_the_operands_that_are_touched():
    x = Var("x", f32[8,])
    at, other = Address(x, (THREAD,)), Address(x, (THREAD + 1,))
    copy = Invoke("cp_async", (at, other), (), (4,))
    effects = INTRINSICS["cp_async"].effects(copy)
    assert effects.writes == (at,)
    assert effects.reads == (other,)
    assert INTRINSICS["syncthreads"].effects(CALLS[0]).barrier
    assert not effects.barrier


@pytest.mark.parametrize(
    "call",
    [
        Invoke("barrier_sync", (), (), (0, 32)),
        Invoke("barrier_sync", (), (), (1, 33)),
        Invoke("threadfence", (), (), ("world",)),
        Invoke("syncthreads", (Const(1, i32),)),
        Invoke("prefetch", (Address(Var("x", f32[1,]), (THREAD,)),), (), ("L9",)),
    ],
    ids=str,
)
def test_wrong_calls_are_refused(call):
    with pytest.raises(BadKernel):
        INTRINSICS[call.name].check(call)


def test_the_clock_needs_64_bits():
    with pytest.raises(DtypeMismatch):
        INTRINSICS["clock"].check(Invoke("clock", (), (Var("t", u32),)))


def test_builtins():
    assert builtin("threadIdx.y") is Builtin("threadIdx.y")
    assert builtin("clusterRank").dtype is i32
    assert len(BUILTINS) == 32
    with pytest.raises(KeyError, match="warp"):
        builtin("warp")
