"""Tables of local rules."""

import pytest

from hidet.errors import InternalError
from hidet.ir.expr import Add, Const, Expr, Mul, Sub, Var
from hidet.ir.rewrite import Rules
from hidet.types import i32

x, y = Var("x", i32), Var("y", i32)


def table():
    rules = Rules("tidy")

    @rules
    def zero(e: Add | Sub) -> Expr | None:
        match e:
            case Add(a, Const(0)) | Sub(a, Const(0)):
                return a
        return None

    @rules
    def one(e: Mul) -> Expr | None:
        return e.a if isinstance(e.b, Const) and e.b.value == 1 else None

    return rules


def test_rules_apply_everywhere_until_nothing_changes():
    assert table().rewrite(((x + 0) * 1 - 0) + y) is x + y


def test_what_no_rule_names_stays_the_same_object():
    e = x * y
    assert table().rewrite(e) is e


def test_the_trace_names_each_rule():
    seen = []
    table().rewrite((x + 0) * 1, trace=lambda name, before, after: seen.append(name))
    assert seen == ["zero", "one"]


def test_tables_are_joined():
    more = Rules("more")

    @more
    def swap(e: Sub) -> Expr | None:
        return Add(e.b, e.a)

    both = table() + more
    assert both.name == "tidy+more"
    assert both.rewrite(x - y) is y + x
    assert both.rewrite(x - 0) is x


def test_rules_that_go_in_circles_are_found():
    rules = Rules("circle")

    @rules
    def swap(e: Add) -> Expr | None:
        return Add(e.b, e.a)

    with pytest.raises(InternalError, match="did not settle"):
        rules.rewrite(x + y)
