import pytest

from hidet import ops
from hidet.errors import BadArgument
from hidet.graph import FlowGraph, Node, asarray, symbol, trace_from
from hidet.graph.flow import optimize


def test_nodes_come_after_what_they_read():
    x = symbol((2, 3))
    y = ops.relu(x)
    z = ops.exp(y) + y
    graph = trace_from(z)
    assert [type(node.op).__name__ for node in graph.nodes] == ["Relu", "Exp", "Add"]
    assert graph.inputs == (x,)
    assert [type(node.op).__name__ for node in graph.users()[y]] == ["Exp", "Add"]


def test_what_nobody_reads_is_no_part():
    x = symbol((4,))
    mean, scale = ops.moments(x, (0,))
    ops.exp(mean)
    graph = trace_from(scale, x)
    assert len(graph.nodes) == 1


def test_a_graph_may_begin_in_the_middle():
    x = symbol((4,))
    y = ops.relu(x)
    z = ops.exp(y)
    assert [type(node.op).__name__ for node in FlowGraph((y,), (z,)).nodes] == ["Exp"]


def test_constants_are_found():
    x, c = symbol((3,)), asarray([1.0, 2.0, 3.0])
    graph = trace_from((x + c) * c)
    assert graph.constants == (c,)
    assert trace_from(c).constants == (c,)


def test_long_chains_need_no_recursion():
    x = y = symbol((2,))
    for _ in range(3000):
        y = ops.relu(y)
    assert len(trace_from(y, x).nodes) == 3000


def test_nodes_are_spelled_out_for_errors_alone(monkeypatch):
    x = symbol((3,))
    y = ops.relu(x) + x
    monkeypatch.setattr(Node, "__repr__", lambda node: pytest.fail("each graph would take long"))
    assert len(trace_from(y).nodes) == 2


def test_limits_of_sizes_survive_other_outputs_and_every_pass():
    x, y = symbol(("n", 3)), symbol(("m", 3))
    graph = FlowGraph((x, y), (ops.relu(x),), "both", {"n": (1, 8), "m": (2, None)})
    changed = graph.with_outputs((ops.exp(x),))
    assert (changed.name, changed.limits) == ("both", graph.limits)
    fewer = graph.with_outputs((ops.exp(x),), (x,))
    assert fewer.limits == {"n": (1, 8)}
    twice = FlowGraph((x, y), (ops.relu(ops.relu(x)), x + 0), "twice", graph.limits)
    assert optimize(twice).limits == graph.limits


def test_missing_and_repeated_inputs_are_refused():
    x, y = symbol((3,)), symbol((3,))
    with pytest.raises(BadArgument, match=r"Add.* needs .*no input of the graph"):
        FlowGraph((x,), (x + y,))
    with pytest.raises(BadArgument, match="twice"):
        FlowGraph((x, x), (x,))
