"""What is evaluated in any case, and what may be."""

from hidet.ir.certain import safe_nodes, unconditional
from hidet.ir.expr import And, Expr, Less, Load, Select, Var, constant, wrap
from hidet.ir.walk import find
from hidet.types import f32, i32

X, N = Var("x", f32[4]), Var("n", i32)
FIRST, OTHER = Load(X, (wrap(0),)), Load(X, (N,))
ZERO = constant(0.0, f32)


def test_a_condition_is_certain_and_what_it_guards_is_not():
    value = Select(Less(ZERO, FIRST), OTHER, ZERO)
    found = unconditional([value])
    assert FIRST in found
    assert OTHER not in found
    both = And(Less(ZERO, FIRST), Less(ZERO, OTHER))
    assert FIRST in unconditional([both])
    assert OTHER not in unconditional([both])
    assert OTHER in unconditional([value + OTHER])


def test_reads_and_quotients_of_integers_are_not_safe():
    ratio = N // wrap(3)
    nodes = list(find([FIRST + OTHER, ratio, N + 1], Expr))
    safe = safe_nodes(nodes)
    assert N + 1 in safe
    assert not {FIRST, OTHER, ratio, FIRST + OTHER} & safe
    assert FIRST in safe_nodes(nodes, {FIRST})
    assert FIRST + OTHER in safe_nodes(nodes, {FIRST, OTHER})
