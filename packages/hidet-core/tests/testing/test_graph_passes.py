"""What tests of graph passes compare."""

import numpy as np
import pytest

from hidet import ops
from hidet.graph import symbol, trace_from
from hidet.testing.graph_passes import kinds, lines, same_value, weight


def test_text_and_values():
    x = symbol((2, 3))
    graph = trace_from([ops.sum(ops.relu(x), 1)], [x])
    assert lines(graph) == ["x_1 = Relu(x)", "x_2 = Sum(x_1)", "return x_2"]
    assert kinds(graph) == ["relu", "sum"]
    same_value(graph, trace_from([ops.sum(ops.maximum(x, 0.0), 1)], [x]))
    with pytest.raises(AssertionError):
        same_value(graph, trace_from([ops.sum(x, 1)], [x]))


def test_constants_are_the_same_at_every_run():
    assert np.array_equal(weight(3, 4).numpy(), weight(3, 4).numpy())
    assert weight(50, low=0.5).numpy().min() >= 0.5
