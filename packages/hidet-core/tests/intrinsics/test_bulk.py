"""The texts of bulk copies assemble; wrong calls are refused."""

import pytest

from hidet.errors import BadKernel
from hidet.intrinsics import INTRINSICS
from hidet.ir.expr import Address, Const, Var
from hidet.ir.stmt import Declare, Invoke
from hidet.types import Scope, TensorType, f32, i32, u32, u64

BARS = Var("bars", TensorType(u64, (1,), Scope.SHARED))
TILE = Var("tile", TensorType(f32, (64,), Scope.SHARED))
SIZE = Const(256, u32)


def at(tensor):
    return Address(tensor, (Const(0, i32),))


def test_text_compiles(block, assembled):
    x = Var("x", ~f32)
    body = [
        Declare(BARS),
        Declare(TILE),
        Invoke("cp_async_bulk_prefetch", (at(x), SIZE)),
        Invoke("cp_async_bulk_load", (at(TILE), at(x), SIZE, at(BARS))),
        Invoke("cp_async_bulk_store", (at(x), at(TILE), SIZE)),
        Invoke("cp_async_bulk_commit_group"),
        Invoke("cp_async_bulk_wait_group", options=(1, True)),
        Invoke("cp_async_bulk_wait_group", options=(0, False)),
    ]
    assert "cp.async.bulk.wait_group.read 1" in assembled(block((x,), body))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (Invoke("cp_async_bulk_load", (at(TILE), at(TILE), SIZE)), "4 operands"),
        (Invoke("cp_async_bulk_wait_group", options=(-1, True)), "waits for all but -1"),
    ],
)
def test_wrong_calls(call, message):
    with pytest.raises(BadKernel, match=message):
        INTRINSICS[call.name].check(call)
