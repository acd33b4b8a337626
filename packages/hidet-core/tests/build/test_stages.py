"""Graphs with data-dependent sizes: cut into stages, compiled, run, saved."""

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.build.compile import compile_graph
from hidet.build.draft import plan_graph
from hidet.build.stages.stages import cut
from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import FlowGraph, tracing
from hidet.optimize import optimize
from hidet.options import options
from hidet.runtime.binding.footprint import footprint

SIZES = (1, 2, 7, 129)


def rows_of(n, seed=0):
    return np.random.default_rng(seed + n).standard_normal((n, 7)).astype(np.float32)


def middle():
    """A product, a selection of its rows by their sums, another product; what came before too."""
    random = np.random.default_rng(5)
    weights = [random.standard_normal((7, 7)).astype(np.float32) for _ in range(2)]
    first, second = map(hidet.asarray, weights)
    x = hidet.symbol(("n", 7), name="x")
    h = ops.tanh(ops.matmul(x, first))
    kept = ops.nonzero(ops.greater(ops.sum(h, 1), 0.0))
    chosen = ops.take(h, [kept[:, 0]])
    y = ops.matmul(chosen, second)
    graph = hidet.trace_from([y, ops.max(h, 0), kept, ops.sum(x)], [x])

    def meaning(x):
        a, b = (each.astype(np.float64) for each in weights)
        h = np.tanh(x.astype(np.float64) @ a)
        kept = np.argwhere(h.sum(1) > 0)
        return h[kept[:, 0]] @ b, h.max(0), kept, x.sum(dtype=np.float64)

    return graph, meaning


def check(found, wanted):
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_what_is_selected_in_the_middle_goes_on(target):
    graph, meaning = middle()
    with options(target=target):
        compiled = graph.build()
        for n in SIZES if target == "cpu" else (2, 7):
            check(compiled(hidet.asarray(rows_of(n))), meaning(rows_of(n)))


def test_one_file_holds_all_stages(tmp_path):
    graph, meaning = middle()
    graph.build().save(tmp_path / "model")
    loaded = hidet.load(tmp_path / "model")
    assert [*loaded.archive.called] == ["main", "main.then"]
    check(loaded(rows_of(31)), meaning(rows_of(31)))
    assert "float32[u0, 7], float32[7], int64[u0, 1], float32[]" in repr(loaded)


def test_a_graph_without_such_sizes_has_no_more_in_its_file():
    x = hidet.symbol((3, 4))
    archive = compile_graph(hidet.trace_from(ops.exp(x), x)).archive
    assert "then" not in archive.main.to_json()
    assert b'"format": 3' in archive.to_bytes()


def test_weights_of_later_stages_are_packed_before_the_first_call():
    random = np.random.default_rng(0)
    weights = [random.standard_normal((64, 64)).astype(np.float32) for _ in range(3)]
    a, b, c = map(hidet.asarray, weights)
    x = hidet.symbol((32, 64), name="x")
    h = ops.matmul(x, a)
    kept = ops.take(h, [ops.nonzero(ops.greater(h[:, 0], 0.0))[:, 0]])
    y = ops.matmul(ops.relu(ops.matmul(kept, b)), ops.transpose(c) * 2.0)
    graph = hidet.trace_from(y, x)
    plans = plan_graph(graph)
    assert "prepare" in plans
    read = {plans[n].buffers[b].name for n in ("main", "main.then") for b in
            plans[n].of_role("derived")}  # fmt: skip
    assert read == {f"derived{at}" for at in range(len(plans["prepare"].outputs))}
    value = random.standard_normal((32, 64)).astype(np.float32)
    wide = value.astype(np.float64) @ weights[0]
    wanted = np.maximum(wide[wide[:, 0] > 0] @ weights[1], 0) @ (weights[2].T * 2.0)
    compiled = graph.build()
    for _ in range(2):
        found = compiled(hidet.asarray(value)).numpy()
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=2e-3)


def test_sizes_of_sizes_take_a_stage_each():
    x = hidet.symbol(("n", 7), name="x")
    first = ops.nonzero(ops.relu(x))
    second = ops.nonzero(ops.greater(first[:, 1], 2))
    third = ops.nonzero(ops.less(second, 3))
    graph = hidet.trace_from([third, first, second], [x])
    stages = cut(optimize(graph))
    assert [len(each.data_sizes) for each in stages] == [1, 1, 1, 0]
    assert [each.results for each in stages] == [(), (1,), (2,), (0,)]
    compiled = graph.build()
    for n in SIZES:
        value = rows_of(n)
        one = np.argwhere(value > 0)
        two = np.argwhere(one[:, 1] > 2)
        check(compiled(value), [np.argwhere(two < 3), one, two])


def test_nothing_and_everything_may_be_selected():
    x = hidet.symbol((5,), name="x")
    where = ops.nonzero(x)
    graph = hidet.trace_from([ops.take(x, [where[:, 0]]) * 2.0, ops.sum(where)], [x])
    compiled = graph.build()
    for value in (np.zeros(5), np.ones(5), np.arange(5)):
        given = value.astype(np.float32)
        check(compiled(given), [given[given != 0] * 2, np.flatnonzero(given).sum()])


def test_results_of_fixed_sizes_may_need_what_data_tell():
    x = hidet.symbol((9,), name="x")
    chosen = ops.take(x, [ops.nonzero(ops.relu(x))[:, 0]])
    compiled = hidet.trace_from(ops.sum(ops.exp(chosen)), x).build()
    value = np.linspace(-1, 1, 9, dtype=np.float32)
    np.testing.assert_allclose(compiled(value).numpy(), np.exp(value[value > 0]).sum(), rtol=1e-6)


def test_an_update_in_place_waits_for_those_who_read_what_was_there():
    x, row = hidet.symbol((6,), name="x"), hidet.symbol((1,), name="row")
    with tracing():
        kept = ops.take(x, [ops.nonzero(ops.relu(row))[:, 0]])  # reads x after a size was read
        made = ops.index_put(x, [hidet.asarray(np.asarray([0]))], row)
        graph = FlowGraph([x, row], [kept, ops.in_place(made)])
    with options(cache=False):
        compiled = graph.build()
        value = np.full(6, 3, np.float32)
        (found,) = compiled.run([value, np.ones(1, np.float32)])
    np.testing.assert_array_equal(found.numpy(), [3])
    np.testing.assert_array_equal(value, [1, 3, 3, 3, 3, 3])


def test_an_input_may_tell_a_size_within_limits():
    n = hidet.symbol((), "int64", name="n")
    graph = hidet.trace_from(ops.iota(ops.size_from(n, "rows", 1, 9)) * 2, n)
    compiled = graph.build()
    np.testing.assert_array_equal(compiled(np.int64(4)).numpy(), [0, 2, 4, 6])
    for wrong in (0, 10, -1, 2**40):
        with pytest.raises(ShapeMismatch, match=f"the data give `u0` = {wrong}.*at least 1 and at"):
            compiled(np.int64(wrong))


def test_reports_go_through_all_stages():
    graph, _ = middle()
    report = graph.correctness_report(hidet.asarray(rows_of(7)))
    assert report.first is None
    assert sum(each.kind == "output" for each in report.rows) == 4
    assert "main.then: " in graph.explain()
    plans = plan_graph(graph)
    assert footprint(plans, {"n": 4, "u0": 3}).outputs > 0
    with pytest.raises(BadArgument, match="depends on u0"):
        footprint(plans, {"n": 4})
