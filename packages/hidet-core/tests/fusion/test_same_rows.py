"""Norms that a model spells out: reductions and what reads their rows again are one kernel."""

import pytest

from hidet import ops
from hidet.graph import evaluate, symbol, trace_from
from hidet.graph.apply import apply_all
from hidet.graph.foreign import Foreign, ResultTypes
from hidet.target import Target
from hidet.testing.compare import assert_close
from hidet.testing.fused import groups_of, simulated
from hidet.testing.graph_passes import weight
from hidet.testing.graphs import arrays_for

TARGETS = [Target.parse("sm_90a"), Target.parse("cpu")]


def mean(x, axis=-1):
    return ops.mean(x, axis, keepdims=True)


def root_mean_square(x):
    return x * ops.rsqrt(mean(ops.square(x)) + 1e-6) * weight(x.shape[-1])


def layer(x):
    centred = x - mean(x)
    return centred / ops.sqrt(mean(centred * centred) + 1e-6) * weight(x.shape[-1])


def by_variance(x):
    return (x - mean(x)) / ops.sqrt(ops.var(x, -1, keepdims=True, correction=0) + 1e-5)


def by_moments(x):
    average = mean(x)
    spread = mean(x * x) - average * average
    return (x - average) * ops.rsqrt(spread + 1e-2)


def channels(x):
    centred = x - mean(x, 0)
    return centred * ops.rsqrt(mean(ops.square(centred), 0) + 1e-5)


def exponentials(x):
    powers = ops.exp(x - ops.max(x, -1, keepdims=True))
    return powers / ops.sum(powers, -1, keepdims=True)


def logarithms(x):
    return x - ops.logsumexp(x, -1, keepdims=True)


def twice(x):
    return ops.layer_norm(ops.softmax(x))


SPELLED = (
    root_mean_square, layer, by_variance, by_moments, channels, exponentials, logarithms,
    twice,
)  # fmt: skip


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("shape", [(3, 37), (129, 7), (2, 5)])
@pytest.mark.parametrize("norm", SPELLED)
def test_a_norm_that_is_spelled_out_is_one_kernel(norm, shape, target):
    x = symbol(shape)
    graph = trace_from([norm(x)], [x])
    assert len(groups_of(graph, target)) == 1
    same(graph, target)


@pytest.mark.parametrize("target", TARGETS, ids=str)
@pytest.mark.parametrize("norm", [root_mean_square, layer, ops.rms_norm])
def test_a_sum_that_others_read_is_stored_by_its_norm(norm, target):
    x, y = symbol((5, 37)), symbol((5, 37))
    total = x + y
    graph = trace_from([total, norm(total)], [x, y])
    (group,) = groups_of(graph, target)
    assert len(group.results) == 2
    same(graph, target)


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_a_norm_a_residual_and_the_next_norm(target):
    x, y = symbol((3, 37)), symbol((3, 37))
    total = y + ops.rms_norm(x, weight(37))
    graph = trace_from([total, ops.rms_norm(total, weight(37))], [x, y])
    assert len(groups_of(graph, target)) == 1
    same(graph, target)


def test_reductions_of_other_rows_stay_apart():
    x = symbol((8, 8))
    for made in (
        ops.layer_norm(x, ops.sum(ops.exp(x), 0)),
        x - mean(x, 0) - mean(x, 1),
        ops.softmax(ops.softmax(x, 0), 1),
    ):
        assert len(groups_of(trace_from([made], [x]))) == 2


def test_what_no_definition_tells_is_kept_out():
    x, y = symbol((3, 5)), symbol((3, 5))
    total = x + y
    (outside,) = apply_all(Foreign, (total,), key="twice", gives=ResultTypes((total.type,)))
    graph = trace_from([ops.relu(total), outside, ops.cumsum(total, 1)], [x, y])
    found = [{node.op.name for node in group.nodes} for group in groups_of(graph)]
    assert {"foreign"} in found
    assert {"cumsum"} in found


def test_rows_too_long_for_one_block_stay_apart():
    x = symbol((2, 1 << 17))
    assert len(groups_of(trace_from([root_mean_square(x)], [x]))) == 2


@pytest.mark.parametrize(("rows", "kernels"), [(256, 1), (257, 2)])
def test_long_columns_stay_apart(rows, kernels):
    x = symbol((rows, 64))
    assert len(groups_of(trace_from([x - mean(x, 0)], [x]))) == kernels


def test_what_reads_no_row_again_stays_apart():
    x, y = symbol((8, 8)), symbol((8, 8))
    assert len(groups_of(trace_from([y * mean(ops.exp(x))], [x, y]))) == 2


def same(graph, target):
    """The kernels give what the operators do one by one."""
    arrays = arrays_for(graph)
    for found, wanted in zip(
        simulated(graph, arrays, target), evaluate(graph, *arrays), strict=True
    ):
        assert_close(found, wanted, graph.outputs[0].dtype, 64.0)
