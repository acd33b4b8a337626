"""Constants, conversions and neutral operands."""

import pytest

from hidet.ir.expr import Cast, Const, FloorDiv, Mul, Sub, Var, wrap
from hidet.ir.folding import cast, floating, fold, lossless, narrow
from hidet.types import boolean, f16, f32, i8, i32, i64, tf32, u8, u32

i, x, u = Var("i", i32), Var("x", f32), Var("u", u8)


def test_constants_fold_unless_they_have_no_value():
    assert fold(wrap(6) * 7) is wrap(42)
    assert fold(wrap(1) // 0) is wrap(1) // 0


@pytest.mark.parametrize(
    ("e", "simple"),
    [
        (Cast(i, i32), i),
        (Cast(Cast(i, i64), i32), i),
        (Cast(Cast(i, i64), u8), Cast(i, u8)),
        (Cast(Cast(i, i8), i32), Cast(Cast(i, i8), i32)),
        (Cast(Cast(x, f16), f32), Cast(Cast(x, f16), f32)),
        (Cast(Const(1.5, f32), i32), wrap(1)),
    ],
)
def test_conversions(e, simple):
    assert cast(e, e.value, e.to) is simple


def test_what_fits_in_what():
    assert lossless(u8, i32)
    assert lossless(boolean, u8)
    assert not lossless(u32, i32)
    assert not lossless(i8, u32)


def test_integers_that_wrap_keep_their_order_of_operations():
    assert narrow(Mul(u, Const(1, u8))) is u
    assert narrow(Mul(u, Const(0, u8))) is Const(0, u8)
    assert narrow(FloorDiv(u, Const(1, u8))) is u
    e = Sub(u, Const(3, u8))
    assert narrow(e) is e


def test_floats():
    assert floating(x * 1.0) is x
    assert floating(wrap(0.1) + 0.2) is Const(0.30000001192092896, f32)
    e = Const(0.1, tf32) + Const(0.2, tf32)
    assert floating(e) is e
    assert floating(x + 0.0) is x + 0.0
