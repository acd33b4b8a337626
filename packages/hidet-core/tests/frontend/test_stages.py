"""Models cut where the host computes: what lies before, between and after its functions."""

import numpy as np
import pytest

from hidet import ops
from hidet.frontend.host_values import HostFunction, HostValue, is_on_host
from hidet.frontend.stages import StagedModel, staged
from hidet.graph import FlowGraph, from_numpy, symbol, tracing


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
def test_graphs_and_functions_take_turns(rows):
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
