"""Recurrent layers: one kernel computes a product and the cell that its gates make."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.choosing.schedule import implement
from hidet.graph import asarray, evaluate, symbol, trace_from
from hidet.graph.dims import size_symbol
from hidet.options import options
from hidet.target import Target
from hidet.testing.compare import assert_close
from hidet.testing.fused import groups_of, simulated
from hidet.testing.graphs import arrays_for

CPU, GPU = Target.parse("cpu+avx2"), Target.parse("sm_90a")
SIZES = [(1, 1), (2, 7), (3, 2), (7, 13), (1, 129), (9, 2)]
"""Rows and hidden units."""


def lstm_cell(row, h, c, weight):
    size = h.shape[-1]
    pairs = zip(ops.split(row, size, -1), ops.gates(h, weight, 4), strict=True)
    i, f, g, o = (ops.add(one, other) for one, other in pairs)
    cell = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
    return [ops.sigmoid(o) * ops.tanh(cell), cell]


def of_numpy(x, w, h, c, lengths=None, reverse=False):
    """A layer of LSTM cells, in float64."""
    x, w, h, c = (each.astype(np.float64) for each in (x, w, h, c))
    lengths = np.full(x.shape[1], x.shape[0]) if lengths is None else lengths
    rows = np.zeros((*x.shape[:2], h.shape[-1]))
    for n, length in enumerate(lengths):
        for t in range(length)[:: -1 if reverse else 1]:
            i, f, g, o = np.split(x[t, n] + w @ h[n], 4)
            i, f, o = (1 / (1 + np.exp(-each)) for each in (i, f, o))
            c[n] = f * c[n] + i * np.tanh(g)
            rows[t, n] = h[n] = o * np.tanh(c[n])
    return rows, h, c


def values(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("target", [CPU, GPU])
def test_a_cell_is_right_on_odd_sizes(target, sizes):
    rows, hidden = sizes
    inputs = [symbol(each) for each in ((rows, 4 * hidden), sizes, sizes, (hidden, 4 * hidden))]
    graph = trace_from(lstm_cell(*inputs), inputs)
    arrays = arrays_for(graph)
    for found, wanted in zip(
        simulated(graph, arrays, target), evaluate(graph, *arrays), strict=True
    ):
        assert_close(found, wanted, graph.outputs[0].dtype, 64)


@pytest.mark.parametrize("rows", [1, 4, 32, 129])
@pytest.mark.parametrize("target", [CPU, GPU])
def test_a_cell_is_one_kernel(target, rows):
    inputs = [symbol(each) for each in ((rows, 512), (rows, 128), (rows, 128), (128, 512))]
    (group,) = groups_of(trace_from(lstm_cell(*inputs), inputs), target)
    assert len(group.results) == 2
    assert len(implement(group, target)) == 1


@pytest.mark.parametrize("target", ["", "sim"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("with_lengths", [False, True])
def test_a_layer_runs_as_many_steps_as_there_are(target, reverse, with_lengths):
    hidden = 3
    weight = values(4 * hidden, hidden)
    columns = ops.interleave_gates(asarray(weight), 4)
    steps, samples = size_symbol("time"), size_symbol("batch")
    shapes = ((steps, samples, 4 * hidden), (samples, hidden), (samples, hidden))
    inputs, lengths = list(map(symbol, shapes)), [symbol((samples,), "int64")] * with_lengths
    rows, last = ops.recurrence(
        inputs[0],
        inputs[1:],
        lambda row, h, c: lstm_cell(row, h, c, columns),
        lengths=lengths[0] if lengths else None,
        reverse=reverse,
    )
    graph = trace_from([rows, *last], [*inputs, *lengths])
    for time, batch in ((5, 2), (1, 1), (2, 3)):
        arrays = [values(time, batch, 4 * hidden), values(batch, hidden), values(batch, hidden)]
        ends = [np.arange(batch, dtype=np.int64) % time + 1] * with_lengths
        wanted = of_numpy(arrays[0], weight, *arrays[1:], *ends, reverse=reverse)
        with options(target=target):
            found = graph(*map(asarray, [*arrays, *ends]))
        for one, other in zip(found, wanted, strict=True):
            assert_close(one.numpy(), other, one.dtype, 64)


def test_gates_of_a_unit_are_neighbours():
    weight = np.arange(24, dtype=np.float32).reshape(6, 4)
    columns = ops.interleave_gates(asarray(weight), 3).numpy()
    np.testing.assert_array_equal(columns[:, :3], weight[[0, 2, 4]].T)
    np.testing.assert_array_equal(columns[:, 3:], weight[[1, 3, 5]].T)
