"""What scales channels goes into weights."""

import pytest

from hidet import ops
from hidet.graph import symbol, trace_from
from hidet.optimize import optimize, split
from hidet.optimize.merge.fold_scale import fold_scale
from hidet.testing.graph_passes import kinds, lines, same_value, weight


def batch_norm(x, channels, affine=True):
    more = (weight(channels), weight(channels)) if affine else ()
    return ops.batch_norm(x, weight(channels), weight(channels, low=0.5), *more)


def parts_of(graph):
    found = split(optimize(graph))
    return kinds(found.main)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("bias", [True, False])
def test_a_batch_norm_after_a_convolution(affine, bias):
    x = symbol((2, 4, 5, 7))
    y = ops.conv2d(x, weight(6, 4, 3, 3), weight(6) if bias else None, padding=1)
    before = trace_from([ops.relu(batch_norm(y, 6, affine))], [x])
    after = fold_scale(before)
    assert "batch_norm" not in kinds(after)
    assert parts_of(before) == ["conv", "relu"]
    same_value(before, after)


def test_a_depthwise_convolution_and_a_linear_layer():
    x = symbol((2, 4, 5))
    y = ops.conv1d(x, weight(4, 1, 3), groups=4)
    before = trace_from([batch_norm(y, 4)], [x])
    assert parts_of(before) == ["conv"]
    same_value(before, fold_scale(before))
    x = symbol((3, 8))
    before = trace_from([batch_norm(ops.linear(x, weight(6, 8)), 6)], [x])
    assert parts_of(before) == ["linear"]
    same_value(before, fold_scale(before))


def test_factors_and_summands_spelled_out():
    x = symbol((1, 4, 5, 7))
    y = ops.conv2d(x, weight(6, 4, 1, 1))
    y = y * weight(1, 6, 1, 1) + weight(6, 1, 1) - weight(1)
    before = trace_from([ops.relu(y)], [x])
    assert parts_of(before) == ["conv", "relu"]
    same_value(before, fold_scale(before))


@pytest.mark.parametrize(("dtype", "stays"), [("float16", True), ("bfloat16", False)])
def test_a_factor_of_any_size_leaves_weights_of_float16_as_they_are(dtype, stays):
    x = symbol((1, 4, 5, 7), dtype)
    w, scale = (ops.cast(weight(*shape), dtype) for shape in ((6, 4, 1, 1), (6, 1, 1)))
    before = trace_from([ops.conv2d(x, w) * (scale * 1e-5)], [x])
    assert ("multiply" in parts_of(before)) is stays
    normed = ops.batch_norm(ops.conv2d(x, w), *(ops.cast(weight(6, low=0.5), dtype),) * 2)
    assert parts_of(trace_from([normed], [x])) == ["conv"]


def test_a_summand_of_a_linear_layer_becomes_its_bias_a_factor_stays():
    x = symbol((3, 8))
    before = trace_from([ops.linear(x, weight(6, 8)) + weight(6)], [x])
    assert parts_of(before) == ["linear"]
    same_value(before, fold_scale(before))
    scaled = trace_from([ops.linear(x, weight(6, 8)) * weight(6)], [x])
    assert fold_scale(scaled) is scaled


def test_the_text_before_and_after():
    x, w, s = symbol((1, 4, 5)), weight(6, 4, 3), weight(6)
    before = trace_from([ops.conv1d(x, w) + ops.reshape(s, (6, 1))], [x])
    after = fold_scale(before)
    assert lines(before)[-2].startswith("x_2 = Add(x_1, c_1")
    assert lines(after)[-2].startswith("x_2 = Conv(x, c_1, x_1,")


def test_what_is_not_folded():
    x, other = symbol((1, 4, 5)), symbol((1, 6, 3))
    y = ops.conv1d(x, weight(6, 4, 3))
    for made in (y * weight(3), y + other, ops.add(y, y), weight(6, 1) - y, y * weight(2, 1, 6, 1)):
        graph = trace_from([made], [x, other])
        assert fold_scale(graph) is graph
    graph = trace_from([batch_norm(y, 6), ops.relu(y)], [x])
    assert fold_scale(graph) is graph
