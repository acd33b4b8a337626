"""Updates in place compute what they write, and where; two of them are one kernel."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.choosing.grouping import grouped, optimized
from hidet.build.compile import compile_graph
from hidet.frontend.running.execute import prepare_runner
from hidet.graph import FlowGraph, symbol, tracing
from hidet.optimize import split
from hidet.options import options
from hidet.runtime.binding.memory import array_of, view_of
from hidet.target import Target
from hidet.types import f32, i64

HEADS, SIZE, ROOM = 2, 5, 7
TARGETS = ["cpu", "sim"]


def parts(new):
    """Keys and values of `new`, as a model makes them."""
    rows = new.shape[0]
    wide = HEADS * SIZE

    def heads(first):
        part = ops.slice(new, 1, first, first + wide)
        return ops.permute(ops.reshape(part, (rows, HEADS, SIZE)), (1, 0, 2))

    return heads(0) * 2.0 + 1.0, heads(wide)


def caches(rows, distinct=True):
    """A cache of keys and one of values, both updated by rows that are computed, and their sum."""
    new, length = symbol((rows, 2 * HEADS * SIZE), f32), symbol((), i64)
    old = [symbol((HEADS, ROOM, SIZE), f32) for _ in range(2)]
    with tracing():
        at = ops.arange(rows, dtype=i64) + length
    made = [
        ops.in_place(ops.index_put(x, [None, at], part, distinct=distinct))
        for x, part in zip(old, parts(new), strict=True)
    ]
    return FlowGraph((new, length, *old), (made[0] + made[1], *made))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("rows", "length"), [(1, 0), (1, 6), (2, 3), (7, 0)])
@pytest.mark.parametrize("distinct", [True, False])
def test_both_caches_hold_what_was_computed(rows, length, distinct, target):
    random = np.random.default_rng(rows + length)
    new = random.random((rows, 2 * HEADS * SIZE), np.float32)
    old = [random.random((HEADS, ROOM, SIZE), np.float32) for _ in range(2)]
    expected = [each.copy() for each in old]
    k, v = np.split(new.reshape(rows, 2 * HEADS, SIZE).transpose(1, 0, 2), 2)
    expected[0][:, length : length + rows] = k * 2 + 1
    expected[1][:, length : length + rows] = v
    with options(target=target):
        run = prepare_runner(caches(rows, distinct), view_of)
        found = run([view_of(each) for each in (new, np.array(length), *old)])
    np.testing.assert_allclose(array_of(found[0]), expected[0] + expected[1], rtol=1e-6)
    for one, other in zip(old, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
@pytest.mark.parametrize("distinct", [True, False])
def test_one_kernel_computes_and_writes_both(target, distinct):
    plan = compile_graph(caches(3, distinct), target).archive.main
    names = [plan.buffers[number].name for number in plan.inputs]
    writers = [{plan.buffers[n].name for n in step.writes} for step in plan.steps]
    assert writers == [set(names[2:]), {"output0"}]


def groups(inputs, *outputs):
    """The operators of each kernel of a graph for an H200."""
    main = split(optimized(FlowGraph(inputs, outputs), Target.parse("sm_90a"))).main
    return [[n.op.name for n in g.nodes] for g in grouped(main, Target.parse("sm_90a"))]


def test_updates_one_after_the_other_stay_apart():
    x, at, new = symbol((4, 9), f32), symbol((2,), i64), symbol((4, 2), f32)
    first = ops.in_place(ops.index_put(x, [None, at], new))
    second = ops.in_place(ops.index_put(first, [None, at + 1], ops.tanh(new)))
    found = groups([x, at, new], second)
    assert [names.count("index_put") for names in found] == [1, 1]
    assert found[1][-2:] == ["tanh", "index_put"]


def test_updates_of_other_extents_stay_apart():
    x, y = symbol((4, 9), f32), symbol((4, 9), f32)
    at, new = symbol((2,), i64), symbol((4, 3), f32)
    first = ops.in_place(ops.index_put(x, [None, at], ops.slice(new, 1, 0, 2)))
    second = ops.in_place(
        ops.index_put(
            y, [None, ops.concat([at, at + 2], 0)], ops.expand(ops.slice(new, 1, 2, 3), (4, 4))
        )
    )
    assert [names.count("index_put") for names in groups([x, y, at, new], first, second)] == [1, 1]


def test_sums_are_computed_once_and_then_put():
    x, at, new = symbol((4, 9), f32), symbol((2,), i64), symbol((4, 2, 33), f32)
    updated = ops.in_place(ops.index_put(x, [None, at], ops.sum(new, 2) * 2.0))
    assert groups([x, at, new], updated)[-1] == ["index_put"]


def test_what_is_added_in_one_place_is_all_there():
    x, at, new = symbol((4, 9), f32), symbol((3,), i64), symbol((4, 3), f32)
    updated = ops.in_place(ops.index_put(x, [None, at], new * 2.0, accumulate=True))
    given = [np.zeros((4, 9), np.float32), np.array([2, 2, 8]), np.ones((4, 3), np.float32)]
    with options(target="sim"):
        prepare_runner(FlowGraph((x, at, new), (updated,)), view_of)(list(map(view_of, given)))
    np.testing.assert_array_equal(given[0][:, [2, 8, 0]], [[4, 2, 0]] * 4)


def test_heads_read_a_cache_that_was_updated_where_it_lies():
    x, at, new = (
        symbol((1, 2, 33, 16), "float16"),
        symbol((1,), i64),
        symbol((1, 2, 1, 16), "float16"),
    )
    q = symbol((1, 6, 1, 16), "float16")
    cache = ops.in_place(ops.index_put(x, [None, None, at], new, distinct=True))
    wide = ops.expand(ops.reshape(cache, (1, 2, 1, 33, 16)), (1, 2, 3, 33, 16))
    heads = ops.reshape(wide, (1, 6, 33, 16))
    graph = FlowGraph((x, at, new, q), (ops.attention(q, heads, heads), cache))
    plan = compile_graph(graph, "sm_90a").archive.main
    assert not [
        each for each in plan.buffers if each.role == "workspace" and each.elements == 2 * 33 * 16
    ]
    (whole,) = (n for n, each in enumerate(plan.buffers) if each.shape == (1, 2, 33, 16))
    assert all(whole in step.reads for step in plan.steps[1:2])
