"""Every access gets one flat index."""

from dataclasses import replace

import pytest

from hidet.ir.expr import Address, Builtin, Const, FloorDiv, FloorMod, Load, Var, wrap
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Declare, ForTasks, If, Store
from hidet.mapping import Swizzle, SwizzledLayout, column_major, repeat, row_major, spatial
from hidet.mapping.slot import Slot
from hidet.passes.addresses.flatten_indices import flatten_indices
from hidet.passes.arithmetic.simplify import simplify
from hidet.passes.loops.unfold_tasks import unfold_tasks
from hidet.passes.loops.unroll import unroll
from hidet.types import PointerType, Scope, TensorType, f32, i32

THREAD = Builtin("threadIdx.x")
m, n = Var("m", i32), Var("n", i32)
i, j = Var("i", i32), Var("j", i32)


def flat(kernels, *body, params):
    return str(flatten_indices(Kernel("k", params, body, launch=kernels.grid(threads=32))))


def test_parameters_become_pointers(kernels):
    x = Var("x", f32[4, 64])
    found = flat(kernels, Store(x, (THREAD // 8, THREAD % 8), wrap(0.0)), params=(x,))
    assert found.splitlines()[0] == "cuda kernel k(x: ~f32):"
    assert found.splitlines()[2] == "  x[(((threadIdx.x // 8) * 64) + (threadIdx.x % 8))] = 0.0"


def test_offsets_that_may_be_large_have_64_bits(kernels):
    small, large = Var("small", f32[2**16, 2**14]), Var("large", f32[2**17, 2**14])
    unknown = Var("unknown", f32[m, 4])
    for x, wide in ((small, False), (large, True), (unknown, True)):
        found = flat(kernels, Store(x, (THREAD, wrap(0)), wrap(0.0)), params=(x,))
        assert ("i64(" in found) is wide


def test_within_known_sizes_32_bits_are_enough_on_a_cpu(kernels):
    """So neighbours stay neighbours to whoever reads the text: j // 3 and j % 3 meet again."""
    x = Var("x", f32[m, 7, 3])
    store = Store(x, (i, FloorDiv(j, wrap(3)), FloorMod(j, wrap(3))), wrap(0.0))
    made = Kernel("k", (x, i, j), (store,), kind=KernelKind.CPU)
    assert "x[((i64(i) * 21:i64) + i64(j))]" in str(flatten_indices(made))
    large = Var("x", f32[m, 2**17, 2**17])
    store = Store(large, (i, i, j), wrap(0.0))
    assert "i64(j)" in str(flatten_indices(replace(made, params=(large, i, j), body=(store,))))


def test_bounds_may_show_that_32_bits_are_enough(kernels):
    x = Var("x", f32[m, 4])
    body = If(m < 1000, (Store(x, (THREAD, wrap(0)), wrap(0.0)),))
    assert "i64" not in flat(kernels, body, params=(x,))


def test_shared_and_register_arrays_have_one_dimension(kernels):
    s = Var("s", TensorType(f32, (4, 8), Scope.SHARED))
    body = (Declare(s), Store(s, (wrap(1), THREAD % 8), wrap(0.0)))
    found = flat(kernels, *body, params=())
    assert "s: f32[32] shared" in found
    assert "s[((threadIdx.x % 8) + 8)] = 0.0" in found


def test_layouts_say_where_elements_lie(kernels):
    s = Var("s", TensorType(f32, (4, 8), Scope.SHARED, column_major(4, 8)))
    found = flat(kernels, Declare(s), Store(s, (wrap(1), THREAD % 8), wrap(0.0)), params=())
    assert "s[(((threadIdx.x % 8) * 4) + 1)]" in found


def test_addresses_and_loads_within_indices(kernels):
    x, at = Var("x", f32[4, 4]), Var("at", i32[2, 2])
    q = Var("q", PointerType(f32))
    body = Declare(q, Address(x, (Load(at, (wrap(1), wrap(1))), wrap(2))))
    assert "q: ~f32 = &x[((at[3] * 4) + 2)]" in flat(kernels, body, params=(x, at))


def test_a_number_without_axes(kernels):
    x = Var("x", TensorType(f32, ()))
    assert "x[0] = 1.0" in flat(kernels, Store(x, (), wrap(1.0)), params=(x,))


@pytest.mark.parametrize(
    "layout",
    [None, row_major(8, 4), column_major(8, 4), SwizzledLayout(Swizzle(2, 0, 2), row_major(8, 4))],
    ids=str,
)
def test_same_meaning_in_shared_memory(kernels, agree, layout):
    y = Var("y", f32[8, 4])
    s = Var("s", TensorType(f32, (8, 4), Scope.SHARED, layout))
    row, column = THREAD // 4, THREAD % 4
    body = (
        Declare(s),
        Store(s, (row, column), THREAD.cast(f32)),
        Store(y, (row, column), Load(s, (row, column)) + 1.0),
    )
    kernel = Kernel("k", (y,), body, launch=kernels.grid(threads=32))
    agree(kernel, [(8, 4)], [flatten_indices])


def test_same_meaning_of_registers_spread_over_threads(kernels, agree):
    mapping = repeat(2, 1) * spatial(4, 8) * repeat(1, 2)
    x = Var("x", f32[mapping.shape])
    mine = Var("mine", TensorType(f32, mapping.shape, Scope.REGISTER, mapping))
    value = Load(mine, (i, j)) + (i * 100 + j).cast(f32)
    body = (
        Declare(mine, Const(1.0, f32)),
        ForTasks((i, j), mapping, THREAD, (Store(mine, (i, j), value),)),
        ForTasks((i, j), mapping, THREAD, (Store(x, (i, j), Load(mine, (i, j))),)),
    )
    kernel = Kernel("k", (x,), body, launch=kernels.grid(threads=32))
    last = agree(kernel, [mapping.shape], [unfold_tasks, flatten_indices, unroll, simplify])
    assert "mine: f32[4] register" in str(last)
    assert all(f"= mine[{number}]" in str(last) for number in range(4))


def test_same_meaning_with_symbolic_sizes(kernels, agree):
    x, y = Var("x", f32[m, n]), Var("y", f32[n, m])
    load = Load(x, (THREAD // n, THREAD % n))
    body = If(m * n > THREAD, (Store(y, (THREAD % n, THREAD // n), load),))
    kernel = Kernel("k", (x, y), (body,), launch=kernels.grid(threads=32))
    agree(kernel, [(3, 7), (7, 3)], [flatten_indices], m=3, n=7)


def part(whole, starts, shape):
    return Var("y", TensorType(f32, shape, layout=Slot(whole, starts)))


def test_a_part_lies_within_the_whole(kernels):
    y = part((8, 6, 32), (2, 0, 16), (3, 6, 8))
    found = flat(kernels, Store(y, (wrap(1), wrap(0), THREAD % 8), wrap(0.0)), params=(y,))
    assert "y[((threadIdx.x % 8) + 592)] = 0.0" in found


@pytest.mark.parametrize("whole", [(70000, 70000), (m, 70000)])
def test_an_offset_in_a_large_whole_has_64_bits(kernels, whole):
    y = part(whole, (60000, 5), (4, 8))
    found = flat(kernels, Store(y, (THREAD // 8, THREAD % 8), wrap(0.0)), params=(y,))
    assert "i64" in found
    y = part((70, 70000), (60, 5), (4, 8))
    found = flat(kernels, Store(y, (THREAD // 8, THREAD % 8), wrap(0.0)), params=(y,))
    assert "i64" not in found
