"""Models cut where the host computes: what lies before, between and after its functions."""

import numpy as np
import pytest

from hidet import ops
from hidet.errors import ShapeMismatch
from hidet.frontend.running.host_values import HostFunction, HostValue, is_on_host
from hidet.frontend.running.stages import StagedModel, staged
from hidet.graph import FlowGraph, from_numpy, symbol, tracing
from hidet.graph.data_sizes import require


def counted(name, run, operands, results, calls):
    """A function of the host that notes what it was given."""

    def noting(*values):
        calls.append((name, values))
        return run(*values)

    return HostFunction(name, noting, tuple(operands), tuple(results))


def model(calls):
    """tanh(x @ w), a function of its sums that a text chooses, and both of them together."""
    w = from_numpy(np.random.default_rng(0).normal(size=(3, 3)).astype(np.float32))
    text, label = HostValue("a text"), HostValue("a label")
    with tracing():
        x, weight, fresh = symbol(["n", 3]), symbol(["m"]), symbol(["k", 3])
        hidden = ops.tanh(ops.matmul(x, w))
        sums = ops.sum(hidden, 1)
        result = ops.concat([ops.multiply(hidden, 2.0), fresh], 0)
        graph = FlowGraph([x, weight, fresh], [result, sums])
    functions = [
        counted("weigh", lambda t: [np.full(len(t), 2.0, np.float32)], [text], [weight], calls),
        counted("label", lambda s: ["big" if s.sum() > 0 else "small"], [sums], [label], calls),
        counted(
            "repeat",
            lambda w, name: [np.full((len(w), 3), len(name))],
            [weight, label],
            [fresh],
            calls,
        ),
    ]
    return graph, functions, text, label


@pytest.mark.parametrize("rows", [1, 7])
def test_graphs_and_functions_take_iterations(rows):
    calls = []
    graph, functions, text, label = model(calls)
    stages = staged(graph, functions)
    assert [[f.name for f in each.functions] for each in stages] == [["weigh"], ["label", "repeat"]]
    run = StagedModel(graph, functions, FlowGraph.build, "cpu")
    x = np.random.default_rng(rows).normal(size=(rows, 3)).astype(np.float32)
    values = run.run({graph.inputs[0]: x, text: "four"})
    w = graph.constants[0].numpy()
    hidden = np.tanh(x @ w)
    name = "big" if hidden.sum() > 0 else "small"
    wanted = np.concatenate([hidden * 2, np.full((4, 3), len(name))])
    np.testing.assert_allclose(values[graph.outputs[0]].numpy(), wanted, rtol=1e-5)
    assert values[label] == name
    assert [name for name, _ in calls] == ["weigh", "label", "repeat"]


def test_nothing_is_computed_twice():
    graph, functions, *_ = model([])
    kinds = [[node.op.name for node in each.graph.nodes] for each in staged(graph, functions)]
    assert "tanh" in kinds[0]
    assert "tanh" not in kinds[1]


def test_values_of_the_host_in_lists():
    assert is_on_host([1, [HostValue("text")]])
    assert not is_on_host([1, ["text"]])


def floats(count):
    """The numbers below a size."""
    return ops.cast(ops.iota(count), "float32")


def selected(is_shown, calls):
    """What is positive of x, beside what the host makes of how many of it there are."""
    with tracing():
        x, fresh = symbol(["n", 3]), symbol(["k", 3])
        rows = ops.cast(ops.nonzero(x), "float32")
        count = ops.sum(ops.cast(x > 0, "int64"))
        picked = floats(ops.size_from(count, "count"))
        last = [picked * 2, ops.concat([picked, ops.reshape(fresh, (-1,))], 0)]
        results = [rows, count, last[0] if is_shown else last[1]]
        graph = FlowGraph([x, fresh], [*results, ops.sum(fresh) + ops.sum(rows, 1)])
    x, fresh = graph.inputs
    repeat = counted("f", lambda n: [np.full((n, 3), 2.0, np.float32)], [graph.outputs[1]],
                     [fresh], calls)  # fmt: skip
    return graph, [repeat]


@pytest.mark.parametrize("is_shown", [True, False])
@pytest.mark.parametrize("rows", [1, 7])
def test_sizes_that_data_tell_before_and_after_the_host(rows, is_shown):
    graph, functions = selected(is_shown, [])
    run = StagedModel(graph, functions, FlowGraph.build, "cpu")
    x = np.abs(np.random.default_rng(rows).normal(size=(rows, 3))).astype(np.float32)
    x[0, 1] = 0
    values = run.run({graph.inputs[0]: x})
    count = np.count_nonzero(x)
    picked, at = np.arange(count, dtype=np.float32), np.argwhere(x)
    twos = np.full(3 * count, 2.0)
    wanted = [at, count, picked * 2 if is_shown else np.concatenate([picked, twos])]
    for tensor, each in zip(graph.results, [*wanted, twos.sum() + at.sum(1)], strict=True):
        np.testing.assert_allclose(values[tensor].numpy(), each)


def test_relations_of_sizes_are_checked_after_the_host():
    with tracing():
        x, fresh = symbol(["n"]), symbol(["k"])
        first = ops.size_from(ops.sum(ops.cast(x > 0, "int64")), "first")
        second = ops.size_from(ops.sum(ops.cast(fresh > 0, "int64")), "second")
        require(second, "<=", first)
        graph = FlowGraph([x, fresh], [floats(first), floats(second), ops.negative(x)])
    given, fresh = graph.inputs
    less = HostFunction("f", lambda x: [-x - 1], (graph.results[2],), (fresh,))
    run = StagedModel(graph, [less], FlowGraph.build, "cpu")
    values = run.run({given: np.asarray([1, 2, 3], np.float32)})
    assert [values[each].shape for each in graph.results] == [(3,), (2,), (3,)]
    more = HostFunction("f", lambda x: [abs(x) + 1], (graph.results[2],), (fresh,))
    run = StagedModel(graph, [more], FlowGraph.build, "cpu")
    with pytest.raises(ShapeMismatch, match="u1 = 2 and u0 = 1"):
        run.run({given: np.asarray([-1, 3], np.float32)})


def test_what_has_a_size_of_a_function_waits_for_it():
    with tracing():
        x, fresh = symbol(["n", 3]), symbol(["k", 3])
        numbers = ops.reshape(floats(fresh.shape[0]), (-1, 1))
        graph = FlowGraph([x, fresh], [ops.relu(x), numbers * 2, fresh + 1])
    functions = [counted("f", lambda x: [x[:2]], [graph.outputs[0]], [fresh], [])]
    kinds = [[node.op.name for node in each.graph.nodes] for each in staged(graph, functions)]
    assert ["arange" in each for each in kinds] == [False, True]
    run = StagedModel(graph, functions, FlowGraph.build, "cpu")
    values = run.run({graph.inputs[0]: np.ones((5, 3), np.float32)})
    np.testing.assert_allclose(values[graph.outputs[1]].numpy(), [[0], [2]])
