"""The arms that parts of expressions lie in."""

from hidet.ir.expr import And, Const, Expr, Load, Or, Select, Var
from hidet.ir.walk import postorder
from hidet.passes.arithmetic.dominators import WHOLE, dominators, harmless
from hidet.types import f32, i32

a, b, v, w = (Var(name, i32) for name in "abvw")
ZERO = Const(0, i32)


def nodes(*roots):
    return [each for each in postorder(list(roots)) if isinstance(each, Expr)]


def conditions(part, *roots):
    """The conditions of the arms around a part, the innermost first, with how each is decided."""
    arm = dominators(nodes(*roots), roots)[part]
    found = []
    while arm is not WHOLE:
        found.append((arm.condition, arm.holds))
        arm = arm.outer
    return found


def test_operands_lie_where_their_user_does():
    assert conditions(v, v + w) == []


def test_arms_of_choices():
    chosen = Select(a > 0, v, w)
    assert conditions(v, chosen) == [(a > 0, True)]
    assert conditions(w, chosen) == [(a > 0, False)]
    assert conditions(a > 0, chosen) == []


def test_second_operands_of_logic():
    assert conditions(v, And(a > 0, v > 1)) == [(a > 0, True)]
    assert conditions(v, Or(a > 0, v > 1)) == [(a > 0, False)]


def test_arms_within_arms():
    inner = Select(b > 0, v + w, w)
    assert conditions(v, Select(a > 0, inner, ZERO)) == [(b > 0, True), (a > 0, True)]
    assert conditions(w, Select(a > 0, inner, ZERO)) == [(a > 0, True)]


def test_users_in_several_arms():
    assert conditions(v, Select(a > 0, v, v + 1)) == []
    assert conditions(v, Select(a > 0, Select(b > 0, v, v + 1), ZERO)) == [(a > 0, True)]
    assert conditions(v, Select(a > 0, v, ZERO), v) == []


def test_several_choices_by_one_condition():
    sum_of_both = Select(a > 0, v, ZERO) + Select(a > 0, v + 1, ZERO)
    assert conditions(v, sum_of_both) == [(a > 0, True)]


def test_a_condition_that_reads_memory_makes_no_arm():
    reads = Load(Var("x", i32[4]), (a,)) > 0
    assert conditions(v, Select(reads, v, ZERO)) == []
    assert conditions(v, Select(reads, Select(b > 0, v, ZERO), ZERO)) == [(b > 0, True)]


def test_what_loads_is_not_harmless():
    read = Load(Var("x", f32[4]), (a,))
    found = harmless(nodes(read + 1.0, v // w))
    assert v // w in found
    assert read not in found
    assert read + 1.0 not in found
