"""The texts of clusters assemble; wrong calls are refused."""

from dataclasses import replace

import pytest

from hidet.errors import BadKernel, DtypeMismatch
from hidet.intrinsics import INTRINSICS
from hidet.ir.expr import Address, Builtin, Const, Load, Var, constant
from hidet.ir.stmt import Declare, Invoke, Store
from hidet.types import Scope, TensorType, f32, f64, i32, i64, u32, u64

BARS = Var("bars", TensorType(u64, (1,), Scope.SHARED))
TILE = Var("tile", TensorType(f32, (64,), Scope.SHARED))
ONE, ZERO = Const(1, u32), Const(0, i32)


def at(tensor):
    return Address(tensor, (ZERO,))


def test_text_compiles(block, assembled):
    x, there = Var("x", ~f32), Var("there", ~f32)
    told = [(TILE, Const(1.0, f32))]
    for of in (f64, i32, u32, i64, u64):
        told.append((Var(f"tile_{of}", TensorType(of, (4,), Scope.SHARED)), constant(1, of)))
    body = [
        Declare(BARS),
        Declare(TILE),
        *(Declare(each) for each, _ in told[1:]),
        Declare(there),
        Invoke("mapa", (at(TILE), ONE), (there,)),
        Store(x, (Builtin("clusterRank"),), Load(there, (Builtin("clusterBlockIdx.x"),))),
        Store(x, (Builtin("clusterIdx.y"),), Builtin("clusterDim.z").cast(f32)),
        *(Invoke("store_to_block", (at(each), value, at(BARS), ONE)) for each, value in told),
        Invoke("mbarrier_arrive_cluster", (at(BARS), ONE, ONE)),
        Invoke("mbarrier_arrive_expect_tx_cluster", (at(BARS), ONE, ONE)),
        Invoke("cluster_arrive", options=("relaxed",)),
        Invoke("cluster_arrive", options=("release",)),
        Invoke("cluster_wait"),
    ]
    kernel = block((x,), body)
    found = assembled(replace(kernel, launch=replace(kernel.launch, cluster=(2, 1, 1))))
    assert "barrier.cluster.arrive.relaxed.aligned" in found


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (Invoke("mapa", (at(TILE), ONE), (Var("there", ~u32),)), BadKernel),
        (Invoke("cluster_arrive", options=("acquire",)), BadKernel),
        (Invoke("mbarrier_arrive_cluster", (at(TILE), ONE, ONE)), DtypeMismatch),
        (Invoke("store_to_block", (at(TILE), ONE, at(BARS), ONE)), DtypeMismatch),
        (Invoke("store_to_block", (at(TILE), Const(1.0, f32), at(TILE), ONE)), DtypeMismatch),
        (Invoke("store_to_block", (at(TILE), Const(1.0, f32), at(BARS))), BadKernel),
    ],
)
def test_wrong_calls(call, error):
    with pytest.raises(error):
        INTRINSICS[call.name].check(call)
