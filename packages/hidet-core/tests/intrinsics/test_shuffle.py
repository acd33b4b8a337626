"""Exchange and votes, lane by lane."""

import numpy as np
import pytest

from hidet.errors import BadKernel, DtypeMismatch
from hidet.intrinsics import INTRINSICS
from hidet.intrinsics.shuffle import SHUFFLED
from hidet.ir.expr import Builtin, Const, Reinterpret, Var
from hidet.ir.stmt import Declare, Invoke, Store
from hidet.types import PointerType, bf16, boolean, f8e4m3, f16, f32, i32, i64, u32

ALL = Const(2**32 - 1, u32)
LANE = Builtin("threadIdx.x")


def expected(name, lane, operand, width):
    """The lane that PTX's pseudo code of shfl.sync reads."""
    start = lane - lane % width
    source = {
        "shfl_sync": start + operand % width,
        "shfl_up_sync": lane - operand,
        "shfl_down_sync": lane + operand,
        "shfl_xor_sync": lane ^ operand,
    }[name]
    inside = source >= start if name == "shfl_up_sync" else source < start + width
    return source if inside else lane


@pytest.mark.parametrize("name", ["shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync"])
@pytest.mark.parametrize("width", [2, 8, 32])
@pytest.mark.parametrize("operand", [0, 1, 3, 5])
def test_every_lane_reads_the_right_one(each_lane, name, width, operand):
    values = np.arange(64, dtype=np.float32)
    found = each_lane(name, lambda v: (ALL, v, Const(operand, i32)), values, f32, (width,))
    lanes = [expected(name, lane, operand, width) for lane in range(32)]
    assert found.tolist() == [*lanes, *(lane + 32 for lane in lanes)]


@pytest.mark.parametrize("of", [each for each in SHUFFLED if each.short != "tf32"], ids=str)
def test_values_of_every_type(each_lane, of):
    values = np.arange(32).astype(of.numpy)
    found = each_lane("shfl_xor_sync", lambda v: (ALL, v, Const(1, i32)), values, of)
    assert found.tolist() == values[np.arange(32) ^ 1].tolist()


def test_votes(each_lane):
    odd = np.arange(64, dtype=np.int32) % 2
    vote = lambda v: (ALL, v.eq(1))
    ballot = each_lane("ballot_sync", vote, odd, u32)
    assert (ballot == 0xAAAAAAAA).all()
    first = (np.arange(64) < 32).astype(np.int32)
    assert each_lane("any_sync", vote, first, boolean).tolist() == [True] * 32 + [False] * 32
    assert each_lane("all_sync", vote, first, i32).tolist() == [1] * 32 + [0] * 32
    assert not each_lane("all_sync", vote, odd, boolean).any()


def test_types_that_cannot_be_exchanged():
    check = INTRINSICS["shfl_sync"].check
    with pytest.raises(DtypeMismatch, match="f8e4m3"):
        check(Invoke("shfl_sync", (ALL, Const(1.0, f8e4m3), LANE), (Var("r", f8e4m3),)))
    with pytest.raises(DtypeMismatch, match="f16"):
        check(Invoke("shfl_sync", (ALL, Const(1.0, f32), LANE), (Var("r", f16),)))
    with pytest.raises(BadKernel, match="2, 4, 8, 16 or 32 lanes"):
        check(Invoke("shfl_sync", (ALL, Const(1, i32), LANE), (Var("r", i32),), (3,)))
    with pytest.raises(BadKernel, match="3 operands"):
        check(Invoke("shfl_sync", (ALL, Const(1, i32)), (Var("r", i32),)))


def test_text_compiles(block, assembled):
    out = Var("out", ~i64)
    body = []
    for of in SHUFFLED:
        for name in ("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync"):
            value, found = Var("value", of), Var("found", of)
            body += [Declare(value, LANE.cast(of)), Declare(found)]
            body.append(Invoke(name, (ALL, value, Const(1, i32)), (found,), (16,)))
            typed = Reinterpret(out, PointerType(of))
            body.append(Store(typed, (LANE,), found))
    for name, of in (("ballot_sync", u32), ("any_sync", boolean), ("all_sync", boolean)):
        found = Var("found", of)
        body += [Declare(found), Invoke(name, (ALL, LANE < 3), (found,))]
        body.append(Store(out, (LANE,), found.cast(i64)))
    text = assembled(block((out,), body))
    assert "__shfl_xor_sync" in text
    assert bf16 in SHUFFLED
