"""Values of one statement in each lane."""

from hidet.ir.bounds import Bounds
from hidet.ir.expr import Load, Var, select, wrap
from hidet.ir.stmt import Declare
from hidet.passes.addresses.lanes import Lanes, condition_of, fewest, guarded, reads, ways_to
from hidet.types import f32, i32

x = Var("x", f32[64])
i, v = Var("i", i32), Var("v", i32)


def test_lanes_differ_in_the_loop_variable():
    lanes = Lanes(v, 4)
    assert lanes.depends(v * 2)
    assert not lanes.depends(i * 2)
    assert lanes.in_lane(i + v, 2) is i + 2


def test_declared_names_are_each_lanes_own():
    lanes = Lanes(v, 2)
    s = Var("s", f32)
    assert not lanes.depends(s)
    own = lanes.declare(s)
    assert len(set(own)) == 2
    assert lanes.names(s) == own
    assert lanes.depends(s)
    assert lanes.in_lane(s + 1.0, 1) is own[1] + 1.0


def test_loads_are_found_with_their_conditions():
    inner, outer = Load(x, (i,)), Load(x, (v,))
    found = dict(reads(select(inner < 1.0, outer, 0.0)))
    assert found == {inner: (), outer: ((inner < 1.0, True),)}


def test_conditions_that_are_certain_are_not_asked():
    path = ((i < 4, True), (i < 9, True), (i.eq(7), False))
    lanes, bounds = Lanes(v, 4), Bounds().assume(i < 4)
    assert condition_of([path], lanes, bounds) is None
    assert str(condition_of([path[:1]], lanes, Bounds())) == "(i < 4)"
    assert str(condition_of([path[2:]], lanes, Bounds())) == "(not (i == 7))"


def test_what_is_read_on_several_ways_is_asked_for_on_each():
    few, odd = (i < 4, True), (i.eq(7), True)
    lanes = Lanes(v, 4)
    assert fewest([(few, odd), (few, (i.eq(7), False))]) == [(few,)]
    assert fewest([(few,), (few, odd), ((i < 4, False),)]) == [()]
    assert condition_of([(few,), ((i < 4, False),)], lanes, Bounds()) is None
    assert str(condition_of([(few,), (odd,)], lanes, Bounds())) == "((i < 4) or (i == 7))"
    load = Load(x, (v,))
    assert ways_to(select(i < 4, load, load * 2.0)) == {load: [()]}
    assert ways_to(select(i < 4, load, 0.0)) == {load: [(few,)]}


def test_what_a_condition_reads_is_read_on_every_way():
    load = Load(x, (v,))
    assert ways_to(select(load <= 0.0, 0.0, load)) == {load: [()]}


def test_guarded_values():
    s = Var("s", f32)
    assert [type(each) for each in guarded(s, wrap(1.0), wrap(0.0), None)] == [Declare]
    assert [str(each) for each in guarded(s, wrap(1.0), wrap(0.0), i < 4)] == [
        "s: f32 = 0.0",
        "if (i < 4):\n  s = 1.0",
    ]
