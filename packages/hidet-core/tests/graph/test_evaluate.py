import numpy as np
import pytest

from hidet import ops
from hidet.errors import ShapeMismatch
from hidet.graph import asarray, evaluate, symbol, trace_from
from hidet.graph.dims import size_symbol


def test_a_graph_means_what_its_references_mean():
    x = symbol((2, 3), "f16")
    graph = trace_from(ops.softmax(ops.relu(x) * 2 + asarray([1.0, 2.0, 3.0], "f16")))
    values = np.float16([[1, -1, 0], [2, 3, -4]])
    wide = np.exp(np.maximum(values.astype(np.float64), 0) * 2 + [1, 2, 3])
    found = evaluate(graph, values)[0]
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, wide / wide.sum(1, keepdims=True), rtol=1e-12)


def test_symbolic_sizes_come_from_the_arrays():
    n = size_symbol("n")
    x = symbol((n, 4))
    graph = trace_from(ops.reshape(ops.concat([x, x], 0), (-1,)))
    assert evaluate(graph, np.ones((3, 4)))[0].shape == (24,)
    assert evaluate(graph, np.ones((0, 4)))[0].shape == (0,)


def test_arrays_that_do_not_fit():
    n = size_symbol("n")
    graph = trace_from(symbol((n, n)) + 1)
    with pytest.raises(ShapeMismatch, match=r"given an array of shape \(2, 3\)"):
        evaluate(graph, np.ones((2, 3)))
    with pytest.raises(ShapeMismatch, match="2 arrays for 1 inputs"):
        evaluate(graph, np.ones((2, 2)), np.ones(2))
