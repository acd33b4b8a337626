"""Data-dependent sizes inside of branches and loops: a body is a chain of plans."""

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.build.compile import compile_graph
from hidet.build.draft import plan_graph
from hidet.build.target import target_of_device
from hidet.errors import BadArgument, NotYet, ShapeMismatch
from hidet.graph import FlowGraph, evaluate
from hidet.graph.body import bodies_of
from hidet.options import options
from hidet.runtime import Executor
from hidet.runtime.binding.footprint import footprint
from hidet.runtime.binding.memory import array_of, to_device

GPU = "cuda:0"
TARGETS = pytest.mark.parametrize(
    "target", ["cpu", "sim", pytest.param(GPU, marks=pytest.mark.gpu)]
)


def sizes(target):
    return (1, 7) if target == "sim" else (1, 2, 7, 129)


def values(n, seed=0):
    return np.random.default_rng(seed + n).standard_normal(n).astype(np.float32)


def positive(x):
    """The positive elements."""
    return ops.take(x, [ops.nonzero(ops.relu(x))[:, 0]])


def check(graph, target, *arrays, rtol=1e-5):
    for one, wanted in zip(run(graph, target, *arrays), evaluate(graph, *arrays), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=rtol, atol=1e-5)


def run(graph, target, *arrays):
    """What a graph compiled for a target gives."""
    if target != GPU:
        with options(target=target):
            return [each.numpy() for each in graph.build().run([*arrays])]
    compiled = compile_graph(graph, target_of_device(GPU))
    weights = {name: to_device(each.numpy(), GPU) for name, each in compiled.weights.items()}
    executor = Executor(compiled.archive, GPU, weights=weights)
    return [array_of(view) for view in executor([to_device(each, GPU) for each in arrays])]


def summing():
    x = hidet.symbol(("n",), name="x")
    (last,), rows, _ = ops.loop(
        lambda iteration, y: (
            None,
            [y - ops.mean(positive(y)) * 0.5],
            [ops.sum(ops.exp(positive(y)))],
        ),
        [ops.concat([x, hidet.asarray(np.ones(1, np.float32))], 0)],
        trips=4,
    )
    return hidet.trace_from([last, *rows], [x])


@TARGETS
def test_each_iteration_reads_sizes_of_its_own(target):
    graph = summing()
    for n in sizes(target):
        check(graph, target, values(n))


def test_the_meaning_is_that_of_iterations_one_by_one():
    x = values(7)
    now, rows = np.append(x, 1).astype(np.float64), []
    for _ in range(4):
        rows.append(np.exp(now[now > 0]).sum())
        now = now - now[now > 0].mean() * 0.5
    found = evaluate(summing(), x)
    np.testing.assert_allclose(found[0], now)
    np.testing.assert_allclose(found[1], rows)


@TARGETS
def test_one_branch_of_two_selects(target):
    x, weight = hidet.symbol((6, 5), name="x"), hidet.asarray(np.eye(5, dtype=np.float32) * 3)

    def some():
        kept = ops.nonzero(ops.greater(ops.sum(x, 1), 0.0))[:, 0]
        return ops.sum(ops.matmul(ops.take(x, [kept]), weight), 0)

    graph = hidet.trace_from(
        [ops.if_(ops.sum(x) > 0, some, lambda: ops.max(x, 0)), ops.sum(x)], [x]
    )
    for seed in range(3):
        random = np.random.default_rng(seed).standard_normal((6, 5)).astype(np.float32)
        check(graph, target, random + 0.5)
        check(graph, target, random - 0.5)


@TARGETS
def test_sizes_of_sizes_and_loops_within_loops(target):
    x = hidet.symbol((9,), name="x")

    def inner(iteration, total, kept):
        return None, [total + ops.sum(positive(kept * ops.cast(total, "float32"))), kept], []

    def outer(iteration, y):
        some = positive(y)
        few = ops.take(some, [ops.nonzero(ops.greater(some, 0.5))[:, 0]])
        size = ops.size_value(few.shape[0])
        (last, _), _, _ = ops.loop(inner, [ops.sum(few) * 0.1, y], trips=2)
        return None, [y * 0.5 + last * 0.1 + ops.cast(size, "float32")], []

    (last,), _, _ = ops.loop(outer, [x], trips=3)
    graph = hidet.trace_from(last, x)
    check(graph, target, values(9))
    (loop,) = [node for node in graph.nodes if node.op.name == "loop"]
    (body,) = bodies_of(loop.op)
    assert [each.size.name for each in body.graph.data_sizes] == ["body2.u0", "body2.u1"]
    inside = [each for node in body.graph.nodes for each in bodies_of(node.op)]
    assert [each.size.name for each in inside[0].graph.data_sizes] == ["body1.u0"]


@TARGETS
def test_a_body_may_use_sizes_told_around_it_beside_its_own(target):
    x = hidet.symbol((11,), name="x")
    kept = positive(x)
    (last,), _, _ = ops.loop(
        lambda iteration, y: (None, [y * 0.5 - ops.sum(positive(y - 0.2)) * 0.1], []),
        [kept],
        trips=3,
    )
    check(hidet.trace_from([last, kept], [x]), target, values(11))


@TARGETS
def test_a_loop_goes_on_as_long_as_something_is_selected(target):
    x = hidet.symbol((8,), name="x")

    def iteration(number, y):
        after = y - 0.25
        return ops.size_value(positive(after).shape[0]) > 2, [after], []

    (last,), _, iterations = ops.loop(iteration, [x], go_on=ops.sum(x) > -99.0)
    graph = hidet.trace_from([last, iterations], [x])
    given = np.linspace(-1, 1, 8, dtype=np.float32)
    check(graph, target, given)
    last, iterations = run(graph, target, given)
    assert (last > 0).sum() <= 2
    assert iterations == next(n for n in range(1, 9) if ((given - 0.25 * n) > 0).sum() <= 2)


@TARGETS
def test_rows_are_written_where_they_lie_after_a_size_was_read(target):
    x = hidet.symbol((5, 6), name="x")
    (), (rows,) = ops.scan(lambda row: ([], [ops.cumsum(ops.full((3,), 1.0), 0) *
                                            ops.sum(positive(row))]), [], [x])  # fmt: skip
    graph = hidet.trace_from(rows, x)
    check(graph, target, np.random.default_rng(3).standard_normal((5, 6)).astype(np.float32))
    plans = plan_graph(graph)
    (step,) = [each for each in plans["main"].steps if type(each).__name__ == "Repeat"]
    assert step.twins == (None,)
    assert plans[step.plan].then is not None


def test_files_keep_such_bodies(tmp_path):
    graph, given = summing(), values(13)
    graph.save(tmp_path / "graph")
    loaded = FlowGraph.load(tmp_path / "graph")
    assert str(loaded) == str(graph)
    loaded.build().save(tmp_path / "model")
    found = hidet.load(tmp_path / "model").run([given])
    for one, wanted in zip(found, evaluate(graph, given), strict=True):
        np.testing.assert_allclose(one.numpy(), wanted, rtol=1e-5)


def test_sizes_of_a_body_are_kept_within_limits():
    x = hidet.symbol((4,), "int64", name="x")

    def iteration(number, y):
        rows = ops.iota(ops.size_from(ops.sum(y), "rows", 1, 9))
        return None, [y + ops.sum(rows) * 0 + 1], []

    (last,), _, _ = ops.loop(iteration, [x], trips=2)
    compiled = hidet.trace_from(last, x).build()
    np.testing.assert_array_equal(compiled(np.ones(4, np.int64)).numpy(), [3, 3, 3, 3])
    with pytest.raises(ShapeMismatch, match=r"the data give `body1\.u0` = 12, .* at most 9"):
        compiled(np.full(4, 2))


def test_an_eager_loop_may_select():
    x = hidet.asarray(np.asarray([3, -1, 2], np.float32))
    (last,), _, _ = ops.loop(
        lambda iteration, y: (None, [y + ops.sum(positive(y))], []), [x], trips=2
    )
    np.testing.assert_array_equal(last.numpy(), [27, 23, 26])


def test_a_result_of_iterations_has_no_size_of_its_own():
    x = hidet.symbol((4,), name="x")
    with pytest.raises(ShapeMismatch, match="result 0 of loop is"):
        ops.loop(lambda iteration, y: (None, [positive(y)], []), [x], trips=3)
    with pytest.raises(NotYet, match="rows of iterations have data-dependent sizes"):
        ops.loop(lambda iteration, y: (None, [y], [positive(y)]), [x], trips=3)


def test_the_footprint_counts_what_follows_bodies():
    plans = plan_graph(summing())
    with pytest.raises(BadArgument, match=r"depends on body1\.u0"):
        footprint(plans, {"n": 4})
    small, large = (footprint(plans, {"n": 400, "body1.u0": size, "body1.u1": size})
                    for size in (1, 400))  # fmt: skip
    assert large.arena > small.arena


@TARGETS
def test_branches_give_results_of_other_sizes(target):
    x = hidet.symbol(("n", 3), name="x")
    graph = hidet.trace_from(
        [
            ops.exp(each)
            for each in ops.if_(
                ops.sum(x) > 0,
                lambda: [ops.concat([x, x * 2.0], 0), ops.sum(x, 1), x[:, :2]],
                lambda: [x * 3.0, ops.max(x, 1), x],
            )
        ],
        [x],
    )
    assert [each.size.name for each in graph.data_sizes] == ["u0", "u1"]
    for n in sizes(target):
        given = np.abs(values(3 * n)).reshape(n, 3) * 0.3
        check(graph, target, given)
        check(graph, target, -given)


@TARGETS
def test_a_branch_may_give_what_it_selects(target):
    x = hidet.symbol(("n",), name="x")
    weight = hidet.asarray(np.linspace(0, 1, 5, dtype=np.float32).reshape(1, 5))
    chosen, count = ops.if_(
        ops.sum(x) > 0,
        lambda: (ops.reshape(positive(x), (-1, 1)) @ weight, ops.nonzero(x)),
        lambda: (ops.reshape(x, (-1, 1)) @ weight, ops.nonzero(x)[:2]),
    )
    graph = hidet.trace_from([ops.sum(ops.exp(chosen), 0), chosen, count], [x])
    for n in sizes(target):
        check(graph, target, values(n) + 0.5)
        check(graph, target, values(n) - 0.5)
        check(graph, target, np.zeros(n, np.float32))


@TARGETS
def test_such_branches_lie_in_loops(target):
    x = hidet.symbol((7,), name="x")

    def iteration(number, y):
        some = ops.if_(ops.max(y) > 1.0, lambda: positive(y), lambda: y[:2] * 3.0)
        return None, [y * 0.5 + ops.sum(some) * 0.2], [ops.size_value(some.shape[0])]

    (last,), rows, _ = ops.loop(iteration, [x], trips=4)
    check(hidet.trace_from([last, *rows], [x]), target, values(7) + 1)


@TARGETS
def test_as_many_rows_as_data_say(target):
    x, n = hidet.symbol((5,), name="x"), hidet.symbol((), "int64", name="n")

    def iteration(number, y):
        return ops.sum(y) > 1.0, [y * 0.5], [ops.sum(y), y + ops.cast(number, "float32")]

    def counted(number, y):
        return None, *iteration(number, y)[1:]

    given = np.asarray([1, 5, 2, 3, 4], np.float32)
    last, rows, iterations = ops.loop(iteration, [x], trips=n, go_on=ops.sum(x) > 1.0)
    again, more, _ = ops.loop(counted, [x], trips=n)
    graph = hidet.trace_from([*last, *map(ops.exp, rows), iterations, *again, *more], [x, n])
    for trips in (-2, 0, 1, 9) if target != "sim" else (0, 3):
        check(graph, target, given, np.int64(trips))
    assert run(graph, target, given, np.int64(9))[1].shape == (5,)


def test_branches_give_equal_ranks_and_types():
    x = hidet.symbol((4,), name="x")
    with pytest.raises(ShapeMismatch, match="result 0 of if is"):
        ops.if_(ops.sum(x) > 0, lambda: ops.reshape(x, (2, 2)), lambda: x)
    with pytest.raises(ShapeMismatch, match="result 0 of if is"):
        ops.if_(ops.sum(x) > 0, lambda: ops.cast(x, "float64"), lambda: x)


def test_eager_branches_give_what_is_taken():
    x = hidet.asarray(np.asarray([3, -1, 2], np.float32))
    for sign, size in ((1, 2), (-1, 3)):
        found = ops.if_(ops.sum(x * sign) > 0, lambda: positive(x), lambda: x)
        assert found.shape == (size,)
