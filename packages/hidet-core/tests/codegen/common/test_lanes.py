from hidet.codegen.common.lanes import spread
from hidet.ir.expr import Const, Lane, Load, Pack, Select, Splat, Var
from hidet.ir.functions import call
from hidet.types import VectorType, boolean, f32, i32

V, W = Var("v", VectorType(f32, 2)), Var("w", VectorType(f32, 2))
NONE, ALL = (lambda e: False), (lambda e: True)


def test_arithmetic_is_done_lane_by_lane():
    found = spread(call("exp", V * 2.0 + W), NONE)
    assert found is Pack(tuple(call("exp", Lane(V, k) * 2.0 + Lane(W, k)) for k in range(2)))


def test_native_arithmetic_stays():
    value = V * W + V
    assert spread(value, ALL) is value


def test_lanes_of_known_vectors_are_their_values():
    a, b = Var("a", f32), Var("b", f32)
    assert spread(Lane(Pack((a, b)), 1), NONE) is b
    assert spread(Lane(Splat(a, 4), 3), NONE) is a


def test_a_scalar_choice_between_vectors_is_one_choice():
    c, x = Var("c", boolean), Var("x", ~f32)
    choice = Select(c, Load(x, (Const(0, i32),), 2), Splat(Const(0.0, f32), 2))
    assert spread(choice, NONE) is choice


def test_comparisons_that_remain_are_packs_of_bools():
    found = spread(V < W, NONE)
    assert found is Pack((Lane(V, 0) < Lane(W, 0), Lane(V, 1) < Lane(W, 1)))
    chosen = spread(Select(V < W, V, W), NONE)
    assert isinstance(chosen, Pack)
    assert chosen.lanes[0] is Select(Lane(V, 0) < Lane(W, 0), Lane(V, 0), Lane(W, 0))
