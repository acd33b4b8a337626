"""Graphs run group by group in the simulator."""

from dataclasses import replace

import pytest

from hidet import ops
from hidet.graph import evaluate, symbol, trace_from
from hidet.passes.pipeline import lower
from hidet.testing import fused
from hidet.testing.compare import assert_close
from hidet.testing.fused import groups_of, simulated
from hidet.testing.graph_passes import weight
from hidet.testing.graphs import arrays_for


def test_a_graph_with_folded_constants():
    x = symbol((3, 4, 5))
    y = ops.conv1d(x, weight(6, 4, 3))
    graph = trace_from([ops.relu(ops.batch_norm(y, weight(6), weight(6, low=0.5)))], [x])
    assert [group.name for group in groups_of(graph)] == ["permute_conv_relu_permute"]
    arrays = arrays_for(graph)
    (found,) = simulated(graph, arrays)
    assert_close(found, evaluate(graph, *arrays)[0], graph.outputs[0].dtype, 64.0)


def test_what_a_pass_does_wrong_is_seen(monkeypatch):
    x = symbol((2, 3))
    graph = trace_from([x + 1], [x])

    def wrong(kernel, *how):
        return replace(lower(kernel, *how), body=())

    monkeypatch.setattr(fused, "lower", wrong)
    arrays = arrays_for(graph)
    (found,) = simulated(graph, arrays)
    with pytest.raises(AssertionError):
        assert_close(found, evaluate(graph, *arrays)[0], graph.outputs[0].dtype, 64.0)
