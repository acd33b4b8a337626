"""Statements: kinds, children and defaults."""

import pytest

from hidet.ir.expr import Var, wrap
from hidet.ir.stmt import Assign, Declare, For, If, Invoke, LoopKind, Return, Stmt
from hidet.types import boolean, i32

i, p = Var("i", i32), Var("p", boolean)


def test_children_are_expressions_and_statements_in_order():
    inner, other = Assign(i, i + 1), Return()
    assert list(If(p, (inner,), (other,)).children()) == [p, inner, other]
    assert list(For(i, wrap(4), (inner,)).children()) == [i, wrap(4), inner]
    assert list(Invoke("shuffle", (i,), (p,)).children()) == [i, p]
    assert list(Declare(i).children()) == [i]


def test_loops_are_serial_unless_they_say_otherwise():
    assert For(i, wrap(4), ()).kind is LoopKind.SERIAL
    assert LoopKind("vector") is LoopKind.VECTOR


@pytest.mark.parametrize("kind", Stmt.__subclasses__(), ids=lambda kind: kind.__name__)
def test_every_statement_has_a_place_and_a_line_of_text(kind):
    assert "place" in kind.__dataclass_fields__
    assert kind.__doc__
    assert not kind.interned
