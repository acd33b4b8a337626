import numpy as np
import pytest

from hidet import ops
from hidet.errors import BadArgument, HidetError, ShapeMismatch
from hidet.graph import FlowGraph, asarray, bodies_of, evaluate, symbol, trace_from
from hidet.options import options
from hidet.testing.compare import assert_close

TARGETS = ["", "sim"]


def check(graph, *arrays, target=""):
    """What the compiled graph gives is what its references mean."""
    wanted = evaluate(graph, *arrays)
    with options(target=target):
        found = graph(*map(asarray, arrays))
    found = found if isinstance(found, tuple) else (found,)
    for tensor, each in zip(found, wanted, strict=True):
        assert tensor.numpy().shape == each.shape
        assert_close(tensor.numpy(), each, tensor.dtype, 64)
    return [each.numpy() for each in found]


def values(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.parametrize("target", TARGETS)
def test_one_branch_runs_as_the_condition_says(target):
    x, w = symbol(("n", 3)), asarray(values(3, 3))
    y = ops.if_(ops.sum(x) > 0, lambda: (x @ w, x), lambda: (x - 1.0, x * 2.0))
    graph = trace_from(y, x)
    for sign in (1, -1):
        check(graph, sign * np.abs(values(5, 3)), target=target)


def test_branches_are_traced_apart_and_what_they_read_is_captured_once():
    x, w = symbol((2, 3)), asarray(values(3, 3))
    h = ops.exp(x)
    y = ops.if_(ops.sum(x) > 0, lambda: h @ w, lambda: h + 1.0)
    node = y.trace[0]
    assert node.inputs[1:] == (h, w)
    then, other = bodies_of(node.op)
    assert [type(each.op).__name__ for each in then.graph.nodes] == ["Matmul"]
    assert [type(each.op).__name__ for each in other.graph.nodes] == ["Full", "Add"]
    assert not then.graph.constants


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("trips", [0, 1, 2, 7])
def test_a_loop_runs_so_many_iterations_as_a_tensor_says(trips, target):
    x, n = symbol((3,)), symbol((), "int64")

    def body(iteration, a, b):
        return None, (b, a + b * 0.5), (a * ops.cast(iteration, a.dtype),)

    carried, rows, iterations = ops.loop(body, (x, x * 2.0), trips=n, most=8)
    graph = trace_from([*carried, *rows, iterations], [x, n])
    *_, count = check(graph, values(3), np.int64(trips), target=target)
    assert count == trips


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("start", [0.0, 20.0, 1000.0])
def test_a_while_loop_ends_when_its_condition_does(start, target):
    x = symbol((4,))
    count = ops.zeros((), "int64")
    results = ops.while_loop(
        lambda v, k: ops.sum(v) < 100.0, lambda v, k: (v * 1.5 + 1.0, k + 1), x, count
    )
    check(trace_from(results, x), np.full(4, start, np.float32), target=target)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("length", [1, 2, 7])
@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_goes_through_any_number_of_rows(length, reverse, target):
    x, w = symbol(("n", 3)), asarray(values(3, 3))

    def body(h, row):
        h = ops.tanh(ops.reshape(h, (1, 3)) @ w + row)
        h = ops.reshape(h, (3,))
        return h, h

    last, rows = ops.scan(body, [ops.zeros((3,))], [x], reverse=reverse)
    check(trace_from([*last, *rows], x), values(length, 3), target=target)


@pytest.mark.parametrize("target", TARGETS)
def test_loops_and_branches_lie_within_each_other(target):
    x = symbol(("n", 2))

    def inner(iteration, h):
        more = ops.if_(ops.sum(h) > 1.0, lambda: h * 0.5, lambda: h + x)
        return None, (more,), ()

    def outer(iteration, h):
        (h,), _, _ = ops.loop(inner, [h], trips=iteration + 1)
        return None, (h,), (ops.sum(h),)

    (last,), (sums,), _ = ops.loop(outer, [x], trips=4)
    check(trace_from([last, sums], x), np.abs(values(3, 2)), target=target)


def test_values_that_are_there_are_computed_at_once():
    x = asarray(values(3))
    (total,) = ops.while_loop(lambda v: ops.max(v) < 10.0, lambda v: v + 1.0, x)
    wanted = values(3)
    while wanted.max() < 10:
        wanted = wanted + np.float32(1)
    np.testing.assert_allclose(total.numpy(), wanted, rtol=1e-6)
    assert ops.if_(asarray(True), lambda: x, lambda: x + 1.0).numpy().tolist() == x.numpy().tolist()


def test_results_survive_the_next_call():
    x = symbol((3,))
    graph = trace_from(ops.loop(lambda t, v: (None, (v + 1.0,), ()), [x], trips=3)[0], x)
    first = graph(asarray(np.zeros(3, np.float32)))
    graph(asarray(np.ones(3, np.float32)))
    assert first.numpy().tolist() == [3, 3, 3]


def test_a_graph_with_control_flow_is_saved_and_read(tmp_path):
    x, w = symbol(("n", 3), name="x"), asarray(values(3, 3))
    last, rows = ops.scan(lambda h, row: (h + row @ w, h), [ops.zeros((3,))], [x])
    graph = trace_from([*last, *rows], x)
    graph.save(tmp_path / "graph")
    again = FlowGraph.load(tmp_path / "graph")
    assert str(again) == str(graph)
    check(again, values(5, 3))


def test_what_does_not_fit_through_the_border_is_refused():
    x = symbol((3,))
    yes = ops.sum(x) > 0
    with pytest.raises(
        ShapeMismatch, match=r"result 0 of if is f32\[3\] in one branch, f32\[\] in"
    ):
        ops.if_(yes, lambda: x, lambda: ops.sum(x))
    with pytest.raises(ShapeMismatch, match="result 0 of if"):
        ops.if_(yes, lambda: x, lambda: x > 0)
    with pytest.raises(BadArgument, match="branches of if give 1 and 2"):
        ops.if_(yes, lambda: [x], lambda: [x, x])
    with pytest.raises(BadArgument, match="a body gives tensors, not int"):
        ops.if_(yes, lambda: 1, lambda: x)
    with pytest.raises(ShapeMismatch, match="result 0 of loop"):
        ops.loop(lambda t, v: (None, (ops.sum(v),), ()), [x], trips=3)
    with pytest.raises(BadArgument, match="nothing ends the loop"):
        ops.loop(lambda t, v: (None, (v,), ()), [x])
    with pytest.raises(BadArgument, match="before its first iteration and after each"):
        ops.loop(lambda t, v: (yes, (v,), ()), [x], trips=3)
    with pytest.raises(BadArgument, match="nothing ends the loop"):
        ops.loop(lambda t, v: (None, (v,), (v,)), [x])
    with pytest.raises(HidetError, match="one length"):
        ops.scan(lambda v, a, b: (v, a), [x], [symbol((2, 3)), symbol((4, 3))])


def test_control_flow_lies_at_most_32_levels_deep():
    def nested(x, levels):
        if not levels:
            return x + 1.0
        return ops.if_(ops.sum(x) > 0, lambda: nested(x, levels - 1), lambda: x)

    nested(symbol((2,)), 32)
    with pytest.raises(BadArgument, match="33 levels deep"):
        nested(symbol((2,)), 33)
