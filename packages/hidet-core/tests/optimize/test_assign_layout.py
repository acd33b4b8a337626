"""Networks of convolutions with channels last: the same values, permutations at the edges alone."""

from random import Random

import numpy as np
import pytest

from hidet import ops
from hidet.graph import evaluate, from_numpy, symbol, trace_from
from hidet.optimize import optimize, split
from hidet.optimize.layout.assign_layout import assign_layout
from hidet.optimize.normalize import normalize
from hidet.testing.compare import assert_close
from hidet.testing.fused import groups_of, simulated
from hidet.testing.graph_passes import kinds, lines, same_value, weight
from hidet.testing.graphs import arrays_for
from hidet.testing.networks import random_network


def always(op):
    return True


def main_of(graph):
    """What is left to do at each call."""
    return kinds(split(optimize(graph, channels_last=always)).main)


def checked(graph):
    """The kinds of operators of a graph whose values the pass has left as they were."""
    same_value(graph, assign_layout(graph, always))
    return main_of(graph)


def test_text():
    x = symbol((1, 3, 8, 8))
    y = ops.relu(ops.conv(x, weight(4, 3, 3, 3), padding=1))
    before = trace_from([ops.max_pool(y, 2)], [x])
    after = assign_layout(before, always)
    assert kinds(before) == ["conv", "relu", "max_pool"]
    assert [line.split("(")[0] for line in lines(after)[1:]] == [
        "x_1 = Permute",
        "x_2 = Permute",
        "x_3 = Conv",
        "x_4 = Relu",
        "x_5 = MaxPool",
        "x_6 = Permute",
        "return x_6",
    ]
    same_value(before, after)


def test_nothing_changes_where_no_convolution_gains():
    x = symbol((1, 3, 8, 8))
    graph = trace_from([ops.max_pool(ops.conv(x, weight(4, 3, 3, 3)), 2)], [x])
    assert assign_layout(graph) is graph
    assert assign_layout(graph, lambda op: op.each == 99) is graph


def test_a_block_with_a_shortcut():
    x = symbol((1, 8, 6, 6))
    y = ops.relu(ops.conv(x, weight(4, 8, 1, 1), weight(4)))
    y = ops.relu(ops.conv(y, weight(4, 4, 3, 3), padding=1))
    y = ops.conv(y, weight(8, 4, 1, 1)) + ops.conv(x, weight(8, 8, 1, 1))
    graph = trace_from([ops.relu(y)], [x])
    found = checked(graph)
    assert found.count("permute") == 2
    assert found.count("linear") == 3
    assert found.count("conv") == 1


def test_pooling_to_one_place_and_a_classifier_need_no_permutation():
    x = symbol((2, 3, 8, 8))
    y = ops.adaptive_avg_pool(ops.conv(x, weight(8, 3, 3, 3), padding=1), (1, 1))
    logits = ops.linear(ops.reshape(y, (2, 8)), weight(5, 8))
    assert checked(trace_from([logits], [x])).count("permute") == 1
    y = ops.mean(ops.conv(x, weight(8, 3, 3, 3)), (2, 3))
    assert checked(trace_from([ops.linear(y, weight(5, 8))], [x])).count("permute") == 1


def test_channels_that_are_scaled_by_what_they_mean():
    x = symbol((1, 3, 8, 8))
    y = ops.conv(x, weight(8, 3, 3, 3), padding=1)
    scale = ops.relu(ops.conv(ops.adaptive_avg_pool(y, (1, 1)), weight(4, 8, 1, 1)))
    scale = ops.sigmoid(ops.conv(scale, weight(8, 4, 1, 1)))
    found = checked(trace_from([y * scale * weight(8, 1, 1) + weight(1)], [x]))
    assert found.count("permute") == 2
    assert found.count("conv") == 1


def test_branches_that_are_cut_and_joined():
    x = symbol((1, 8, 6, 6))
    y = ops.conv(x, weight(16, 8, 1, 1))
    left, right = ops.slice(y, 1, 0, 8), ops.slice(y, 1, 8, 16)
    left = ops.conv(ops.pad(left, [(0, 0), (0, 0), (1, 1), (0, 2)]), weight(8, 8, 3, 3))
    right = ops.avg_pool(right, 3, stride=1, padding=((0, 0), (1, 1)))
    y = ops.softmax(ops.concat([ops.slice(left, 2, 0, 4), right], 1), 1)
    found = checked(trace_from([ops.max(y, (1,), keepdims=True)], [x]))
    assert found.count("permute") <= 1  # one channel is last as well as second


@pytest.mark.parametrize("norm", ["batch", "group"])
def test_norms(norm):
    x = symbol((1, 3, 8, 8))
    y = ops.conv(x, weight(8, 3, 3, 3))
    z = ops.relu(y)  # what keeps a norm from the weights
    if norm == "batch":
        z = ops.batch_norm(z, weight(8), weight(8, low=0.5), weight(8), weight(8))
    else:
        z = ops.group_norm(z, 2, weight(8), weight(8))
    assert checked(trace_from([ops.conv(z, weight(4, 8, 1, 1))], [x])).count("permute") == 2


def test_one_and_three_axes():
    x = symbol((2, 3, 9))
    y = ops.permute(ops.conv(x, weight(8, 3, 3), padding=1), (0, 2, 1))
    assert checked(trace_from([ops.linear(y, weight(5, 8))], [x])).count("permute") == 1
    x = symbol((1, 2, 4, 5, 3))
    y = ops.relu(ops.conv(x, weight(4, 2, 2, 2, 2)))
    assert checked(trace_from([y], [x])).count("permute") == 2


def given_weights(images, channels=64, size=28):
    """Two convolutions with a bias and a residual, whose weights come with the call."""
    x = symbol((images, channels, size, size), "float16", device="cuda")
    first, second = (symbol((channels, channels, 3, 3), "float16", device="cuda") for _ in "12")
    bias = symbol((channels,), "float16", device="cuda")
    y = ops.relu(ops.conv(x, first, bias, padding=1))
    return trace_from([ops.relu(ops.conv(y, second, padding=1) + x)], [x, first, bias, second])


def test_weights_that_a_call_brings_stay_where_nothing_is_known_of_time():
    assert "permute" not in kinds(assign_layout(given_weights(1), always))


def test_weights_that_a_call_brings_are_turned_where_that_saves_time():
    def saves(op, other, written):
        return 1.0 - 0.25 * len(written) if op != other else -0.25 * len(written)

    graph = given_weights(1, 8, 5)
    found = assign_layout(graph, always, saves)
    same_value(graph, found)
    assert kinds(found).count("permute") == 4  # x, both weights, and the result


def test_turning_weights_has_to_pay_for_both_ends():
    def saves(op, other, written):
        return 0.5 - 0.25 * len(written) if op != other else -0.25 * len(written)

    assert "permute" not in kinds(assign_layout(given_weights(1, 8, 5), always, saves))


def test_what_has_its_channels_last_already_costs_nothing_to_turn():
    """A convolution whose image and weight are given so, and whose result is read so."""

    def saves(op, other, written):
        return 0.5 - len(written) if op != other else -1.0 * len(written)

    x, taps = symbol((1, 5, 5, 8)), symbol((8, 3, 3, 8))
    y = ops.conv(ops.permute(x, (0, 3, 1, 2)), ops.permute(taps, (0, 3, 1, 2)), padding=1)
    graph = trace_from([ops.permute(y, (0, 2, 3, 1))], [x, taps])
    found = normalize(assign_layout(graph, always, saves))
    same_value(graph, found)
    assert kinds(found) == ["conv"]


@pytest.mark.parametrize(("images", "last"), [(1, False), (32, True)])
def test_what_pays_is_for_the_schedules_to_say(images, last):
    (*_, group) = [each for each in groups_of(given_weights(images)) if each.anchor is not None]
    assert group.anchor.op.channels_last is last


def test_other_operators_see_the_order_that_they_know():
    x = symbol((1, 3, 8, 8))
    y = ops.conv(x, weight(4, 3, 3, 3))
    graph = trace_from([ops.cumsum(y, 1), ops.reshape(y, (4, 36)), ops.argmax(y, 1)], [x])
    checked(graph)


@pytest.mark.parametrize("seed", range(40))
def test_random_networks(seed):
    graph = random_network(Random(seed))
    same_value(graph, assign_layout(graph, always), 1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_random_networks_by_their_kernels(seed):
    graph = random_network(Random(1000 + seed), "float16", steps=5)
    arrays = [each.astype(np.float16) for each in arrays_for(graph)]
    for found, wanted in zip(simulated(graph, arrays), evaluate(graph, *arrays), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-2, atol=2e-2)


def half(*shape, seed=0):
    random = np.random.default_rng(seed)
    values = random.uniform(-1, 1, shape) / np.prod(shape[1:]) ** 0.5
    return from_numpy(values.astype(np.float16))


def test_a_channel_permutation_takes_no_kernel():
    x = symbol((1, 3, 9, 9), "float16")
    y = ops.relu(ops.conv(x, half(16, 3, 3, 3), stride=2, padding=1))
    y = ops.conv(y, half(8, 16, 1, 1))
    graph = trace_from([y], [x])
    assert [group.name for group in groups_of(graph)][::2] == [
        "permute_conv_relu",
        "linear_permute",
    ]
    (array,) = arrays_for(graph)
    (found,) = simulated(graph, [array.astype(np.float16)])
    (wanted,) = evaluate(graph, array.astype(np.float16))
    assert_close(found, wanted, graph.outputs[0].dtype, 64.0)


def test_parts_of_a_product_are_copied_from_where_they_lie():
    x = symbol((1, 16, 7, 7), "float16")
    left, right = (ops.relu(ops.conv(x, half(n, 16, 1, 1, seed=n))) for n in (24, 8))
    left = ops.conv(left, half(9, 24, 3, 3), padding=1)
    right = ops.conv(right, half(5, 8, 3, 3), padding=1)
    graph = trace_from([left, right], [x])
    names = [group.name for group in groups_of(graph)]
    assert names.count("slice_conv_permute") == 2
    (array,) = arrays_for(graph)
    for found, wanted in zip(
        simulated(graph, [array.astype(np.float16)]),
        evaluate(graph, array.astype(np.float16)),
        strict=True,
    ):
        assert_close(found, wanted, graph.outputs[0].dtype, 64.0)


def test_resized_images_follow():
    x = symbol((1, 8, 5, 6))
    y = ops.conv(x, weight(8, 8, 3, 3), padding=1)
    larger = ops.resize(y, sizes=(9, 13), axes=(2, 3), mode="linear")
    found = checked(trace_from([ops.conv(ops.relu(larger), weight(4, 8, 3, 3))], [x]))
    assert found.count("permute") == 2
