"""The texts of bulk copies assemble; wrong calls are refused."""

import pytest

from hidet.errors import BadKernel
from hidet.intrinsics import INTRINSICS
from hidet.intrinsics.synchronization.bulk import NEAR_REDUCTIONS, REDUCTIONS
from hidet.ir.expr import Address, Const, Var
from hidet.ir.stmt import Declare, Invoke
from hidet.types import PointerType, Scope, TensorType, f32, i32, u16, u32, u64

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
        Invoke("cp_async_bulk_prefetch", (at(x), SIZE), options=(None,)),
        Invoke("cp_async_bulk_prefetch", (at(x), SIZE), options=("evict_last",)),
        Invoke("cp_async_bulk_load", (at(TILE), at(x), SIZE, at(BARS)), options=(False, None)),
        Invoke(
            "cp_async_bulk_load",
            (at(TILE), at(x), SIZE, at(BARS), Const(3, u16)),
            options=(True, "evict_first"),
        ),
        Invoke("cp_async_bulk_store", (at(x), at(TILE), SIZE), options=(None,)),
        Invoke("cp_async_bulk_store", (at(x), at(TILE), SIZE), options=("evict_normal",)),
        Invoke("cp_async_bulk_send", (at(TILE), at(TILE), SIZE, at(BARS), Const(1, u32))),
        Invoke("cp_async_bulk_commit_group"),
        Invoke("cp_async_bulk_wait_group", options=(1, True)),
        Invoke("cp_async_bulk_wait_group", options=(0, False)),
    ]
    assert "cp.async.bulk.wait_group.read 1" in assembled(block((x,), body))


def test_reductions_compile(block, assembled):
    """Every reduction of every type that global memory, and another block's memory, takes."""
    body, params = [Declare(BARS)], []
    for table, name in ((REDUCTIONS, "reduce"), (NEAR_REDUCTIONS, "send_reduce")):
        for of in dict.fromkeys(of for types in table.values() for of in types):
            tile = Var(f"{name}_{of}", TensorType(of, (64,), Scope.SHARED))
            body.append(Declare(tile))
            where, rest, last = at(tile), (at(BARS), Const(1, u32)), ()
            if name == "reduce":
                params.append(Var(f"x_{of}", PointerType(of)))
                where, rest, last = at(params[-1]), (), (None,)
            body += [
                Invoke(f"cp_async_bulk_{name}", (where, at(tile), SIZE, *rest), (), (how, *last))
                for how, types in table.items()
                if of in types
            ]
    text = assembled(block(tuple(params), body))
    assert "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16" in text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            Invoke("cp_async_bulk_load", (at(TILE), at(TILE), SIZE), options=(False, None)),
            "4 operands",
        ),
        (Invoke("cp_async_bulk_reduce", (at(TILE), at(TILE), SIZE), options=("mul", None)), "mul"),
        (Invoke("cp_async_bulk_store", (at(TILE), at(TILE), SIZE), options=("soon",)), "soon"),
        (Invoke("cp_async_bulk_wait_group", options=(-1, True)), "waits for all but -1"),
    ],
)
def test_wrong_calls(call, message):
    with pytest.raises(BadKernel, match=message):
        INTRINSICS[call.name].check(call)
