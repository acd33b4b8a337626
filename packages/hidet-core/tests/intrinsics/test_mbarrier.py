"""The texts of mbarrier instructions assemble; wrong calls are refused."""

import pytest

from hidet.errors import BadKernel, DtypeMismatch
from hidet.intrinsics import INTRINSICS
from hidet.ir.expr import Address, Builtin, Const, Var
from hidet.ir.stmt import Declare, Invoke
from hidet.types import Scope, TensorType, boolean, f32, i32, u32, u64

BARS = Var("bars", TensorType(u64, (4,), Scope.SHARED))
AT = Address(BARS, (Const(1, i32),))
ONE = Const(1, u32)


def test_text_compiles(block, assembled):
    state, done = Var("state", u64), Var("done", boolean)
    body = [
        Declare(BARS),
        Declare(state),
        Declare(done),
        Invoke("mbarrier_init", (AT, ONE)),
        Invoke("fence_mbarrier_init"),
        *(Invoke("fence_proxy_async", options=(w,)) for w in ("all", "shared::cta", "global")),
        Invoke("mbarrier_arrive", (AT, ONE)),
        Invoke("mbarrier_arrive", (AT, ONE), (state,)),
        Invoke("mbarrier_arrive_expect_tx", (AT, ONE)),
        Invoke("mbarrier_arrive_expect_tx", (AT, ONE), (state,)),
        Invoke("mbarrier_expect_tx", (AT, ONE)),
        Invoke("mbarrier_test_wait", (AT, ONE), (done,), ("parity",)),
        Invoke("mbarrier_test_wait", (AT, state), (done,), ("state",)),
        Invoke("mbarrier_try_wait", (AT, ONE), (done,), ("parity",)),
        Invoke("mbarrier_try_wait", (AT, state), (done,), ("state",)),
        Invoke("mbarrier_wait", (AT, ONE), (), ("parity",)),
        Invoke("mbarrier_wait", (AT, state), (), ("state",)),
        Invoke("mbarrier_inval", (AT,)),
    ]
    text = assembled(block((), body))
    assert "mbarrier.try_wait.parity" in text
    assert "fence.proxy.async.shared::cta" in text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (Invoke("mbarrier_arrive", (AT,)), "2 operands"),
        (Invoke("mbarrier_wait", (AT, ONE), (), ("odd",)), "'parity', 'state', not 'odd'"),
        (Invoke("fence_proxy_async", options=("local",)), "not 'local'"),
    ],
)
def test_wrong_calls(call, message):
    with pytest.raises(BadKernel, match=message):
        INTRINSICS[call.name].check(call)


def test_only_words_of_64_bits_are_barriers():
    x = Var("x", f32[64,])
    floats = Address(x, (Builtin("threadIdx.x"),))
    with pytest.raises(DtypeMismatch, match="takes u64, i64, not f32"):
        INTRINSICS["mbarrier_init"].check(Invoke("mbarrier_init", (floats, ONE)))
