from hidet.codegen.common.sharing import DEPTH, share
from hidet.ir.expr import And, Const, Load, Reinterpret, Select, Var
from hidet.ir.functions import call
from hidet.types import PointerType, f32, i32

X, INDEX = Var("x", ~f32), Var("i", i32)
LOAD = Load(X, (INDEX,))


def test_what_is_used_twice_gets_a_name():
    value = call("exp", LOAD)
    ((name, bound),), (root,) = share([value * value + 1.0])
    assert bound is value
    assert root is name * name + 1.0


def test_cheap_indices_are_written_twice():
    bindings, _ = share([Load(X, (INDEX + 1,)) * Load(X, (INDEX + 1 + 1,))])
    assert bindings == []


def test_guarded_loads_stay_guarded():
    guarded = Select(INDEX < 4, LOAD * LOAD, Const(0.0, f32))
    bindings, (root,) = share([guarded])
    assert bindings == []
    assert root is guarded


def test_guarded_divisions_stay_guarded():
    quotient = (INDEX * 3 + 1) // (INDEX * 5 + 2)
    condition = And(INDEX < 4, (quotient * quotient < 3))
    assert share([condition]) == ([], [condition])


def test_harmless_values_leave_their_guard():
    value = call("exp", Var("v", f32))
    bindings, _ = share([Select(INDEX < 4, value * value, Const(0.0, f32))])
    assert [bound for _, bound in bindings] == [value]


def test_pointers_are_spelled_where_they_are_used():
    pointer = Reinterpret(X, PointerType(i32))
    many = [Load(Reinterpret(X, PointerType(i32)), (INDEX + k,)) for k in range(3)]
    bindings, _ = share([pointer, *many])
    assert bindings == []


def test_deep_chains_are_cut():
    value = LOAD
    for _ in range(3000):
        value = value + 1.0
    bindings, _ = share([value])
    assert len(bindings) == 3000 // DEPTH


def test_names_build_on_each_other():
    first = call("exp", LOAD)
    second = call("log", first * first)
    bindings, (root,) = share([second + second])
    (a, _), (b, bound) = bindings
    assert bound is call("log", a * a)
    assert root is b + b
