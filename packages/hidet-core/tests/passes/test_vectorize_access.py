"""Vector loops move vectors where addresses are consecutive and aligned, and only there."""

import pytest

from hidet.ir.expr import Address, Builtin, Get, Load, Var, select, wrap
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Assign, Declare, For, If, Invoke, LoopKind, Put, Store
from hidet.passes.addresses.flatten_indices import flatten_indices
from hidet.passes.addresses.guard_bounds import guard_bounds
from hidet.passes.addresses.vectorize_access import vectorize_access
from hidet.passes.arithmetic.simplify import simplify
from hidet.passes.base import run
from hidet.passes.loops.unroll import unroll
from hidet.passes.pipeline import lower
from hidet.types import PointerType, Scope, TensorType, boolean, f16, f32, i8, i32, u32

THREAD = Builtin("threadIdx.x")
m = Var("m", i32)
x, y = Var("x", f32[256]), Var("y", f32[256])
rows = Var("rows", i32[256])
v, s = Var("v", i32), Var("s", f32)
at = THREAD * 4 + v
STEPS = [guard_bounds, simplify, flatten_indices, vectorize_access, unroll, simplify]


def vector(*body, lanes=4):
    return For(v, wrap(lanes), body, LoopKind.VECTOR)


def text(kernels, *body, params=(x, y), threads=32):
    kernel = Kernel("k", params, body, launch=kernels.grid(threads=threads))
    return str(run(kernel, STEPS)).split("\n", 2)[2]


def test_loads_and_stores_in_vectors(kernels):
    assert text(kernels, vector(Store(y, (at,), Load(x, (at,)) * 2.0))) == (
        "  x_lanes: f32x4 = x[(threadIdx.x * 4):4]\n"
        "  y[(threadIdx.x * 4)] = <(x_lanes.0 * 2.0), (x_lanes.1 * 2.0), "
        "(x_lanes.2 * 2.0), (x_lanes.3 * 2.0)>"
    )


def test_what_is_the_same_in_all_lanes_is_loaded_once(kernels):
    found = text(kernels, vector(Store(y, (at,), Load(x, (THREAD,)))))
    assert found.splitlines()[0] == "  x_value: f32 = x[threadIdx.x]"
    assert "<x_value, x_value, x_value, x_value>" in found


def test_what_is_read_for_a_condition_and_behind_it_is_loaded_in_vectors(kernels):
    one = Load(x, (at,))
    found = text(kernels, vector(Store(y, (at,), select(one <= 0.0, 0.0, one))))
    assert found.splitlines()[0] == "  x_lanes: f32x4 = x[(threadIdx.x * 4):4]"
    assert "x[" not in found.split("\n", 1)[1]


def test_rows_that_an_index_picks_are_loaded_in_vectors(kernels):
    row, table = Load(rows, (THREAD,)), Load(x, (Load(rows, (THREAD,)) * 4 + v,))
    found = text(
        kernels,
        vector(Store(y, (at,), select(row < wrap(64), table, 0.0))),
        params=(x, rows, y),
    )
    first, zero, guard, load, *_ = map(str.strip, found.splitlines())
    assert first == "rows_value: i32 = rows[threadIdx.x]"
    assert "x_lanes" in zero
    assert guard == "if (rows_value < 64):"
    assert load == "x_lanes = x[(rows_value * 4):4]"
    each = Load(x, (Load(rows, (at,)) * 4,))
    assert "x_lanes" not in text(kernels, vector(Store(y, (at,), each)), params=(x, rows, y))


def test_unaligned_accesses_stay_scalar(kernels):
    found = text(kernels, vector(Store(y, (at,), Load(x, (at + 1,)))))
    assert "x_lanes" not in found
    assert "y[(threadIdx.x * 4)] = <x[((threadIdx.x * 4) + 1)], " in found


def test_half_aligned_accesses_take_half_the_lanes(kernels):
    found = text(kernels, vector(Store(y, (at,), Load(x, (at + 2,)))))
    assert "x_lanes: f32x2 = x[((threadIdx.x * 4) + 2):2]" in found
    assert "x_lanes_1: f32x2 = x[((threadIdx.x * 4) + 4):2]" in found


def test_strided_accesses_stay_scalar(kernels):
    found = text(kernels, vector(Store(y, (at * 2,), Load(x, (v * 4 + THREAD,)))))
    assert ":" not in found
    assert found.count("y[") == 4


def test_neighbours_in_any_order_are_one_access(kernels):
    found = text(kernels, vector(Store(y, (THREAD * 4 + (v ^ 1),), Load(x, (THREAD * 4 + 3 - v,)))))
    assert "x[(threadIdx.x * 4):4]" in found
    assert "y[(threadIdx.x * 4)] = <x_lanes.2, x_lanes.3, x_lanes.0, x_lanes.1>" in found


def test_what_an_intrinsic_gives_is_one_for_each_lane(kernels):
    given = Var("given", f32)
    got = Invoke(
        "shfl_xor_sync", (wrap(0xFFFFFFFF).cast(u32), Load(x, (at,)), wrap(1)), (given,), (32,)
    )
    found = text(kernels, vector(Declare(given), got, Store(y, (at,), given)))
    assert "= <given, given_1, given_2, given_3>" in found


def test_no_access_is_wider_than_16_bytes(kernels):
    h = Var("h", f16[512])
    wide = THREAD * 8 + v
    found = text(
        kernels, vector(Store(y, (wide,), Load(h, (wide,)).cast(f32)), lanes=8), params=(h, y)
    )
    assert "h_lanes: f16x8" in found
    assert found.count("y[") == 2


def test_many_lanes_go_in_chunks(kernels):
    found = text(kernels, vector(Store(y, (v,), Load(x, (v,))), lanes=64))
    assert found.startswith("  for v in 4:\n    x_lanes: f32x4 = x[(v * 16):4]")


def test_lanes_of_an_odd_number(kernels):
    assert "for v in 17:\n" in text(kernels, vector(Store(y, (v,), wrap(0.0)), lanes=17))
    assert text(kernels, vector(Store(y, (THREAD * 3 + v,), wrap(0.0)), lanes=3)).count("y[") == 3


def test_truth_values_and_registers_are_not_widened(kernels):
    b = Var("b", boolean[256])
    assert "lanes" not in text(kernels, vector(Store(b, (at,), Load(b, (at,)))), params=(b,))
    r = Var("r", TensorType(f32, (4,), Scope.REGISTER))
    found = text(kernels, Declare(r), vector(Store(r, (v,), Load(x, (at,)))))
    assert "r[3] = x_lanes.3" in found


def test_a_guard_that_is_one_for_all_lanes_guards_the_vector(kernels):
    rows = Var("rows", f32[m, 8])
    index = (THREAD // 2, THREAD % 2 * 4 + v)
    found = text(kernels, vector(Put(y, (at,), Get(rows, index))), params=(rows, y))
    assert (
        "rows_lanes: f32x4 = <0.0 x 4>\n  if ((threadIdx.x // 2) < m):\n    rows_lanes = " in found
    )
    assert "y[(threadIdx.x * 4)] = <rows_lanes.0, rows_lanes.1" in found


def test_a_guard_with_another_value_outside_stays(kernels):
    value = select(THREAD < 9, Load(x, (at,)), wrap(1.0))
    found = text(kernels, vector(Store(y, (at,), value)))
    assert "y[(threadIdx.x * 4)] = <(x_lanes.0 if " in found


def test_what_both_ways_of_a_condition_read_has_no_guard(kernels):
    both = select(THREAD < 9, Load(x, (at,)), Load(x, (at,)) * 2.0)
    found = text(kernels, vector(Store(y, (at,), both)))
    assert found.startswith("  x_lanes: f32x4 = x[(threadIdx.x * 4):4]\n")


def test_what_is_read_on_two_ways_is_there_on_both(kernels):
    inner = select(m < 5, Load(x, (at,)) * 2.0, wrap(0.0))
    either = select(THREAD < 9, Load(x, (at,)), inner)
    found = text(kernels, vector(Store(y, (at,), either)), params=(x, y, m))
    assert "if ((threadIdx.x < 9) or (m < 5)):\n    x_lanes" in found


def test_a_guard_on_a_name_that_is_the_same_in_all_lanes(kernels):
    row = Var("row", i32)
    inside = (row // 28) < 3
    guarded = If(inside, (Store(y, (row * 64 + at,), Load(x, (row * 64 + at,))),))
    found = text(kernels, vector(Declare(row, m + THREAD // 16), guarded), params=(x, y, m))
    assert found.count("row: i32") == 1
    assert "x_lanes: f32x4" in found
    assert found.count("y[") == 1


def test_a_name_that_gets_other_values_is_one_for_each_lane(kernels):
    sums = Var("sums", f32)
    body = (Declare(sums, wrap(0.0)), Assign(sums, sums + Load(x, (at,))), Store(y, (at,), sums))
    assert text(kernels, vector(*body)).count("f32 = 0.0") == 4


def test_a_guard_on_the_lanes_themselves(kernels):
    short, odd = Var("short", f32[100]), Var("odd", f32[101])
    found = text(kernels, vector(Put(short, (at,), wrap(1.0))), params=(short,))
    assert found.startswith("  if (threadIdx.x < 25):\n    short[(threadIdx.x * 4)] = <1.0, ")
    assert text(kernels, vector(Put(odd, (at,), wrap(1.0))), params=(odd,)).count("if") == 4


def test_names_declared_in_lanes(kernels):
    body = (Declare(s, Load(x, (at,))), Assign(s, s + 1.0), Store(y, (at,), s))
    found = text(kernels, vector(*body))
    assert "s_3: f32 = x_lanes.3" in found
    assert "y[(threadIdx.x * 4)] = <s, s_1, s_2, s_3>" in found


def test_cpu_loops_stay():
    kernel = Kernel("k", (x, y), (vector(Store(y, (v,), Load(x, (v,)))),), KernelKind.CPU)
    assert vectorize_access(kernel) is kernel


def test_what_vectors_cannot_do_goes_lane_by_lane(kernels):
    found = text(kernels, vector(Invoke("note", (v,)), Store(y, (at,), wrap(1.0))))
    assert [f"note({k})" in found for k in range(4)] == [True] * 4


CASES = {
    "plain": (vector(Put(y, (at,), Get(x, (at,)) + Get(x, (THREAD,)))),),
    "shifted": (vector(Put(y, (at - 1,), Get(x, (at + 2,)))),),
    "short": (vector(Put(y, (at + 200,), Get(x, (at + 164,)))),),
    "choice": (vector(Put(y, (at,), select(THREAD < 9, Get(x, (at,)), Get(x, (at + 1,))))),),
    "own": (vector(Put(y, (at,), select(v < 2, Get(x, (at,)), 1.0))),),
    "sum": (
        Declare(s, wrap(0.0)),
        vector(Assign(s, s + Load(x, (at,)))),
        Put(y, (THREAD,), s),
    ),
    "branch": (
        vector(If(THREAD < 5, (Put(y, (at,), Get(x, (at,))),), (Put(y, (at,), wrap(2.0)),))),
    ),
    "inner": (
        vector(
            Declare(s, wrap(0.0)),
            For(Var("k", i32), wrap(3), (Assign(s, s + Load(x, (at,))),)),
            Put(y, (at,), s),
        ),
    ),
    "long": (vector(Put(y, (THREAD * 8 + v,), Get(x, (THREAD * 8 + v,))), lanes=8),),
    "odd": (vector(Put(y, (THREAD * 3 + v,), Get(x, (THREAD * 3 + v,))), lanes=3),),
    "strided": (vector(Put(y, (v * 32 + THREAD,), Get(x, (v * 32 + THREAD,)))),),
}


@pytest.mark.parametrize("body", CASES.values(), ids=CASES)
def test_same_meaning(kernels, agree, body):
    kernel = Kernel("k", (x, y), body, launch=kernels.grid(threads=32))
    agree(kernel, [(256,), (256,)], STEPS)


@pytest.mark.parametrize("of", [f32, f16, i8])
def test_same_meaning_through_shared_memory(kernels, agree, of):
    rows, out = Var("rows", of[m, 32]), Var("out", of[16, 32])
    tile = Var("tile", TensorType(of, (16, 32), Scope.SHARED))
    i, j = THREAD // 4, THREAD % 4 * 8 + v
    body = (
        Declare(tile),
        vector(Store(tile, (i, j), Get(rows, (i, j))), lanes=8),
        Invoke("syncthreads"),
        vector(Put(out, (15 - i, j), Load(tile, (15 - i, j))), lanes=8),
    )
    kernel = Kernel("k", (rows, out), body, launch=kernels.grid(threads=64))
    last = agree(kernel, [(11, 32), (16, 32)], STEPS, m=11)
    assert "tile_lanes" in str(last)
    assert "rows_lanes" in str(last)


def test_pointers_of_the_user(kernels):
    q = Var("q", PointerType(f32))
    found = text(kernels, vector(Store(q, (at,), wrap(1.0))), params=(q,))
    assert found == "  q[(threadIdx.x * 4)] = <1.0, 1.0, 1.0, 1.0>"


def test_lowered_elementwise_kernels_move_vectors(kernels):
    lowered = str(lower(kernels.add_rows(m, 128)))
    assert "x_lanes: f32x4" in lowered
    assert lowered.count("if") == 1


TILE = Var("tile", TensorType(f32, (128,), Scope.SHARED))


def later(value, index=at):
    return Declare(TILE), vector(Invoke("store_async", (Address(TILE, (index,)), value)))


def test_what_may_be_stored_later_is_copied_if_it_only_moves(kernels):
    assert text(kernels, *later(Load(x, (at + 4,)))) == (
        "  tile: f32[128] shared\n"
        "  cp_async(&tile[(threadIdx.x * 4)], &x[((threadIdx.x * 4) + 4)]) (16,)"
    )


def test_copies_take_nothing_outside(kernels):
    of = Var("of", f32[m, 4])
    found = text(kernels, *later(Get(of, (THREAD, v))), params=(of, y))
    assert found.splitlines()[1].endswith("], (16 if (threadIdx.x < m) else 0)) (16,)")


@pytest.mark.parametrize("value", [Load(x, (at,)) * 2.0, wrap(1.0, f32)])
def test_what_is_computed_is_stored_at_once(kernels, value):
    found = text(kernels, *later(value))
    assert "cp_async" not in found
    assert "tile[(threadIdx.x * 4)] = <" in found


@pytest.mark.parametrize(("index", "copies"), [(at + 2, (8, 8)), (at + 1, (4,) * 4)])
def test_copies_are_as_wide_as_addresses_allow(kernels, index, copies):
    lines = text(kernels, *later(Load(x, (index,)))).splitlines()[1:]
    assert [line.rsplit(" ", 1)[1] for line in lines] == [f"({size},)" for size in copies]
