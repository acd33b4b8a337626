"""Kernels with several results compute what the operators do one by one."""

import pytest

from hidet import ops
from hidet.graph import evaluate, symbol, trace_from
from hidet.target import Target
from hidet.testing.compare import assert_close
from hidet.testing.fused import groups_of, simulated
from hidet.testing.graph_passes import weight
from hidet.testing.graphs import arrays_for

CPU = Target.parse("cpu")


@pytest.mark.parametrize("target", [Target.parse("sm_90a"), CPU])
@pytest.mark.parametrize("shape", [(3, 37), (65, 8), (2, 3, 129), (5, 1)])
@pytest.mark.parametrize("norm", [ops.layer_norm, ops.rms_norm, ops.softmax])
def test_a_sum_and_its_norm(norm, shape, target):
    x, y = symbol(shape), symbol(shape)
    total = x + ops.relu(y)
    graph = trace_from([norm(total), total], [x, y])
    (group,) = groups_of(graph, target)
    assert len(group.results) == 2
    arrays = arrays_for(graph)
    for found, wanted in zip(
        simulated(graph, arrays, target), evaluate(graph, *arrays), strict=True
    ):
        assert_close(found, wanted, graph.outputs[0].dtype, 64.0)


def test_an_embedding_with_positions_and_its_norm():
    numbers, table, places = symbol((7,), "int32"), weight(11, 24), weight(7, 24)
    total = ops.take(table, [ops.absolute(numbers) % 11]) + places
    graph = trace_from([ops.layer_norm(total), total * 2.0], [numbers])
    groups = groups_of(graph)
    assert len(groups) == 2
    arrays = [each.astype("int32") for each in arrays_for(graph)]
    for found, wanted in zip(simulated(graph, arrays), evaluate(graph, *arrays), strict=True):
        assert_close(found, wanted, graph.outputs[0].dtype, 64.0)


def test_what_is_made_of_rows_whose_moments_are_written_stays_apart():
    x, residual = symbol((64, 64), "float16"), symbol((64, 64), "float16")
    rows, moments = ops.linear_moments(x, ops.cast(weight(64, 64), "float16"), residual)
    graph = trace_from([rows, moments, ops.relu(rows)], [x, residual])
    first, second = groups_of(graph)
    assert [len(first.results), len(second.results)] == [2, 1]
    assert "the schedule itself gives several results" in " ".join(map(str, first.notes))
