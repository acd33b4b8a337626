"""Nodes are interned bit-exactly, and their children come from their fields."""

import threading

import pytest

from hidet.ir.expr import Add, Const, Load, Select, Var, wrap
from hidet.ir.stmt import Assign, Declare, If, Return
from hidet.types import boolean, f32, f64, i32, i64


def test_the_same_fields_give_the_same_expression():
    x = Var("x", i32)
    assert x + 1 is x + 1
    assert Add(x, wrap(1)) is x + 1
    assert x + 1 is not x + 2


def test_variables_are_never_shared():
    assert Var("x", i32) is not Var("x", i32)


def test_statements_are_never_shared():
    assert Return() is not Return()


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Const(0.0, f32), Const(-0.0, f32)),
        (Const(1, i32), Const(1, i64)),
        (Const(1, i32), Const(True, boolean)),
        (Const(1.0, f32), Const(1, f32)),
        (Const(1.0, f32), Const(1.0, f64)),
    ],
)
def test_constants_that_compare_equal_but_differ_are_told_apart(a, b):
    assert a is not b


def test_nan_is_itself():
    assert Const(float("nan"), f32) is Const(float("nan"), f32)


def test_expressions_no_longer_used_are_forgotten():
    x = Var("x", i32)
    before = id(x * 12345)
    again = x * 12345  # may or may not have the same address; must be alive and equal to itself
    assert again is x * 12345
    assert before


def test_interning_from_many_threads_gives_one_object():
    x = Var("x", i32)
    found = []
    barrier = threading.Barrier(4)

    def work():
        barrier.wait()
        found.append([x + n for n in range(300)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for others in found[1:]:
        assert all(a is b for a, b in zip(found[0], others, strict=True))


def test_children_are_in_the_order_of_the_fields():
    a, b, c = Var("a", boolean), Var("b", i32), Var("c", i32)
    assert list(Select(a, b, c).children()) == [a, b, c]
    x = Var("x", i32[4, 4])
    assert list(Load(x, (b, c)).children()) == [x, b, c]


def test_map_children_keeps_the_node_if_nothing_changes():
    x = Var("x", i32)
    s = If(x < 1, (Assign(x, x + 1),))
    assert s.map_children(lambda child: child) is s


def test_map_children_may_replace_a_statement_by_several_or_none():
    x, y = Var("x", i32), Var("y", i32)
    s = If(x < 1, (Assign(x, x + 1), Return()))

    def change(child):
        if isinstance(child, Return):
            return ()
        return (Declare(y, x), child) if isinstance(child, Assign) else child

    assert [type(each) for each in s.map_children(change).then] == [Declare, Assign]


def test_nodes_are_immutable():
    with pytest.raises(AttributeError):
        (Var("x", i32) + 1).a = wrap(1)  # type: ignore[misc]
