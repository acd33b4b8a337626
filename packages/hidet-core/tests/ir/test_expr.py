"""Python operators build expressions whose operands have one type."""

import pytest

from hidet.errors import DtypeMismatch
from hidet.ir.expr import (
    Add,
    And,
    BitAnd,
    BitNot,
    Cast,
    Const,
    FloorDiv,
    Less,
    Load,
    Not,
    NotEqual,
    Select,
    Splat,
    Var,
    constant,
    convert,
    select,
    wrap,
)
from hidet.types import VectorType, bf16, boolean, f8e4m3, f16, f32, i8, i32, i64, u8

i, j = Var("i", i32), Var("j", i64)
x, h = Var("x", f32), Var("h", f16)
p = Var("p", boolean)


def test_operands_are_brought_to_one_type():
    e = i + j
    assert isinstance(e, Add)
    assert e.a is Cast(i, i64)
    assert e.type is i64


@pytest.mark.parametrize(
    ("e", "of"),
    [
        (i + 1, i32),
        (h + 1, f16),
        (h + 1.5, f16),
        (i + 1.5, f32),
        (i / 2, f32),
        (i // 2, i32),
        (x < 1, boolean),
        (Var("u", u8) + 300, i32),
        (Var("u", u8) + 200, u8),
        (Var("b", bf16) + h, f32),
        (i + 2**40, i64),
    ],
)
def test_types(e, of):
    assert e.type is of


def test_reflected_operators():
    assert str(1 - i) == "(1 - i)"
    assert str(7 // i) == "(7 // i)"
    assert str(2.0 / x) == "(2.0 / x)"
    assert (i > 3) is Less(wrap(3), i)


def test_an_expression_has_no_truth_value():
    with pytest.raises(TypeError, match=r"\.eq\(\)"):
        bool(i < 1)


def test_and_of_conditions_and_of_bits():
    assert isinstance(p & (i < 1), And)
    assert isinstance(i & 3, BitAnd)
    assert isinstance(p ^ p, NotEqual)
    assert isinstance(~p, Not)
    assert isinstance(~i, BitNot)


@pytest.mark.parametrize("bad", [True, False])
def test_a_python_bool_is_refused(bad):
    with pytest.raises(TypeError, match="eq"):
        p & bad
    with pytest.raises(TypeError, match="eq"):
        select(bad, 1, 2)


def test_bit_operations_refuse_floats():
    with pytest.raises(DtypeMismatch):
        x & x


def test_tensors_are_no_numbers():
    with pytest.raises(DtypeMismatch, match="index it first"):
        Var("t", f32[4]) + 1


def test_select_brings_its_arms_together():
    assert select(p, h, 0.0) is Select(p, h, Const(0.0, f16))


def test_constants_are_rounded_and_wrapped():
    assert constant(300, u8).value == 44
    assert constant(1 / 3, f16).value == 0.333251953125
    assert constant(1e9, f8e4m3).value != 1e9
    assert convert(wrap(3), f32) is Const(3.0, f32)
    assert constant(-129, i8).value == 127


def test_a_scalar_beside_a_vector_is_spread():
    v = Load(Var("t", f32[8]), (i,), 4)
    e = v + x
    assert e.type == VectorType(f32, 4)
    assert e.b is Splat(x, 4)
    assert (v < x).type == VectorType(boolean, 4)


def test_floor_division_is_a_node_of_its_own():
    assert isinstance(i // 4, FloorDiv)
