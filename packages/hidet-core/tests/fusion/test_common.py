"""What several values are made of is computed once, and only where it may be."""

from hidet.fusion.common import in_common
from hidet.ir.expr import Get, Maximum, Var, constant, select
from hidet.types import f32, i32

x, i, a, b = Var("x", f32[8]), Var("i", i32), Var("a", f32), Var("b", f32)


def lines(*values):
    before, found = in_common(values)
    return [str(each) for each in before] + [str(each) for each in found]


def test_one_value_stays():
    value = (a + b) * (a + b)
    assert in_common([value]) == ((), [value])


def test_what_is_in_several_values():
    total = a + b
    assert lines(total, Maximum(total, constant(0.0, f32))) == [
        "part: f32 = (a + b)", "part", "max(part, 0.0)"
    ]  # fmt: skip
    assert lines(a, a * 2.0) == ["a", "(a * 2.0)"]


def test_parts_of_parts():
    total = a + b
    square = total * total
    before, found = in_common([square + 1.0, square * a, total])
    assert [str(each.init) for each in before] == ["(a + b)", "(part * part)"]
    assert found[2] is before[0].var


def test_what_is_read_is_read_first():
    read = Get(x, (i,))
    before, found = in_common([a * 2.0, a + read])
    assert [each.init for each in before] == [read]
    assert found[1].children() == (a, before[0].var)


def test_what_is_computed_under_a_condition_alone_stays_there():
    whole = select(b > 0.0, a / b, 0.0)
    assert lines(whole + 1.0, whole * 2.0)[0].startswith("part: f32 = ((a / b) if")
    inside = a / b
    one, two = select(b > 0.0, inside, 0.0), select(b > 1.0, inside, 1.0)
    assert not in_common([one, two])[0]
    assert str(in_common([one, inside])[0][0]) == "part: f32 = (a / b)"
