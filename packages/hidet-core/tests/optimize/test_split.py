"""What depends on constants alone is set apart; nothing that is made at each call is lost."""

import numpy as np

from hidet import ops
from hidet.graph import from_numpy, symbol, trace_from
from hidet.graph.apply import tracing
from hidet.graph.dims import size_symbol
from hidet.optimize import optimize, split
from hidet.optimize.separate_outputs import is_view, memory
from hidet.types import f32


def names(graph):
    return [] if graph is None else [node.op.name for node in graph.nodes]


def parts(outputs, inputs):
    """The parts of a graph; `outputs` makes its outputs, computing nothing on the way."""
    with tracing():
        found = split(optimize(trace_from(outputs(), inputs)))
    made = set(found.main.inputs)
    assert not made & set(map(memory, found.main.outputs))
    assert found.main.inputs[len(inputs) :] == found.derived
    assert not any(is_view(each) for each in found.derived)
    return found


X = symbol((2, 3))
W = from_numpy(np.ones((2, 3), np.float32))


def test_without_constants_there_is_nothing_to_prepare():
    found = parts(lambda: [ops.relu(X) + 1.0], [X])
    assert found.prepare is None
    assert names(found.main) == ["relu", "full", "add"]


def test_what_reads_constants_is_prepared():
    found = parts(lambda: [X + ops.exp(W * 2.0)], [X])
    assert names(found.prepare) == ["full", "multiply", "exp"]
    assert names(found.main) == ["add"]


def test_a_view_of_a_constant_stays_where_it_is_read():
    found = parts(lambda: [ops.reshape(X, (3, 2)) + ops.reshape(W, (3, 2))], [X])
    assert found.prepare is None


def test_outputs_are_made_at_each_call():
    def outputs():
        e = ops.exp(W)
        return [e, X + e, ops.reshape(ops.tanh(e), (6,))]

    found = parts(outputs, [X])
    assert names(found.main) == ["exp", "add", "tanh", "reshape"]


def test_what_reads_sizes_of_a_call_waits_for_it():
    rows = size_symbol("s")
    x = symbol((rows, 3))
    grown = lambda: W * ops.size_value(rows, f32)
    cut = lambda: ops.window(W, (rows % 2, 0), (1, 3))
    found = parts(lambda: [x + 1.0, ops.exp(grown()), ops.exp(cut())], [x])
    assert names(found.prepare) == []
    assert {"size_value", "slice"} <= set(names(found.main))
