"""What alternates along a vector loop is written out, and means the same."""

import numpy as np
import pytest

from hidet import ops, sim
from hidet.graph import FlowGraph, symbol, tracing
from hidet.ir.expr import FloorDiv, Less, Load, Select, Var, constant, wrap
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Declare, For, LoopKind, Store
from hidet.ir.walk import find
from hidet.options import options
from hidet.passes.loops.alternate_loops import alternate_loops, alternated
from hidet.passes.pipeline import lower
from hidet.types import f32, i32

j, at = Var("j", i32), Var("at", i32)


def kernel(extent, period, kind=KernelKind.CPU):
    """y[j] is x[j // period], or its negative in the first iteration of each period."""
    x, y = Var("x", f32[extent]), Var("y", f32[extent])
    value = Load(x, (at,))
    chosen = Select(Less(j % constant(period, i32), constant(1, i32)), -value, value)
    body = (Declare(at, j // constant(period, i32)), Store(y, (j,), chosen))
    return Kernel("k", (x, y), (For(j, wrap(extent), body, LoopKind.VECTOR),), kind=kind)


def result(made, extent):
    given = np.arange(1, extent + 1, dtype=np.float32)
    found = np.zeros(extent, np.float32)
    sim.launch(made, given, found)
    return found


@pytest.mark.parametrize(("extent", "period"), [(16, 2), (64, 2), (129, 3), (258, 2), (44, 4)])
def test_each_of_what_alternates_is_written_out(extent, period):
    before = kernel(extent, period)
    after = alternate_loops(before)
    (loop,) = after.body
    assert loop.extent.value == extent // period
    assert len(loop.body) == 2 * period
    np.testing.assert_array_equal(result(after, extent), result(before, extent))
    assert not list(find(lower(before).body, Select)), "the conditions are decided"


@pytest.mark.parametrize(("extent", "period"), [(7, 2), (129, 2), (14, 2), (60, 5), (127, 3)])
def test_loops_that_are_no_whole_rounds_stay(extent, period):
    before = kernel(extent, period)
    assert alternate_loops(before) is before
    assert np.all(result(lower(before), extent) != 0)


def test_kernels_for_gpus_stay():
    before = kernel(64, 2, KernelKind.CUDA)
    assert alternate_loops(before) is before


@pytest.mark.parametrize("extent", [16, 129, 258])
def test_neighbours_that_read_one_element_are_a_iteration(extent):
    x, y = Var("x", f32[extent]), Var("y", f32[extent])
    read = Store(y, (j,), Load(x, (j // 2,)))
    before = Kernel(
        "pairs", (x, y), (For(j, wrap(extent), (read,), LoopKind.VECTOR),), KernelKind.CPU
    )
    (loop,) = lower(before).body
    assert (loop.extent.value, len(loop.body)) == ((extent, 1) if extent % 2 else (extent // 2, 2))
    assert bool(list(find(loop.body, FloorDiv))) == bool(extent % 2)


def test_two_periods_stay():
    first, second = (kernel(64, n).body[0] for n in (2, 4))
    both = For(j, wrap(64), (*first.body, *second.body[1:]), LoopKind.VECTOR)
    assert alternated(both) is both


@pytest.mark.parametrize("size", [1, 2, 7, 129, 131])
def test_stacks_along_the_last_axis_are_right_in_the_simulator(size):
    with tracing():
        x, y = symbol((3, size), "float32"), symbol((3, size), "float32")
        graph = FlowGraph([x, y], [ops.stack([ops.exp(x), x * y], -1)])  # rows of pairs
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((3, size)).astype(np.float32) for _ in range(2))
    with options(target="sim"):
        (found,) = graph.build().run([a, b])
    np.testing.assert_allclose(found.numpy(), np.stack([np.exp(a), a * b], -1), rtol=1e-5)
