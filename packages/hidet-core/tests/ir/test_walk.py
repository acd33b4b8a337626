"""Walking and changing programs."""

from hidet.ir.expr import Add, Load, Var, wrap
from hidet.ir.stmt import Assign, Declare, For, Return
from hidet.ir.walk import (
    find,
    introduced,
    postorder,
    rebuild,
    rebuild_body,
    substitute,
    substitute_body,
    variables,
)
from hidet.types import f32, i32

i, j, n = Var("i", i32), Var("j", i32), Var("n", i32)


def test_postorder_gives_children_first_and_each_once():
    e = (i + 1) * (i + 1)
    assert [str(node) for node in postorder(e)] == ["i", "1", "(i + 1)", "((i + 1) * (i + 1))"]


def test_find():
    assert list(find((i + 1) * (j + 2), Add)) == [i + 1, j + 2]


def test_variables_include_those_of_shapes():
    x = Var("x", f32[n, 4])
    assert variables(Load(x, (i, j))) == [x, n, i, j]


def test_rebuild_changes_each_shared_expression_once():
    seen = []

    def change(node):
        seen.append(node)
        return j if node is i else node

    assert rebuild((i + 1) * (i + 1), change) is (j + 1) * (j + 1)
    assert seen.count(i) == 1


def test_rebuild_keeps_what_does_not_change():
    s = For(i, wrap(4), (Assign(j, i + 1),))
    assert rebuild(s, lambda node: node) is s


def test_rebuild_may_drop_and_add_statements():
    body = (Assign(j, i), Return())
    out = rebuild_body(body, lambda s: () if isinstance(s, Return) else s)
    assert out == body[:1]
    assert len(rebuild_body(body, lambda s: (s, s) if isinstance(s, Assign) else s)) == 3


def test_substitute():
    assert substitute(i + j, {i: wrap(3)}) is 3 + j
    (s,) = substitute_body((Assign(j, i),), {i: wrap(3)})
    assert str(s) == "j = 3"


def test_introduced():
    assert introduced((For(i, wrap(4), (Declare(j, i),)),)) == [j, i]


def test_deep_programs_need_no_deep_stack():
    e = i
    for k in range(20000):
        e = e + k
    assert sum(1 for _ in postorder(e)) > 20000
    assert substitute(e, {i: j}) is not e
