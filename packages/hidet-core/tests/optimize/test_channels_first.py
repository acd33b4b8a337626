"""Networks written with channels last: the same values, permutations at the edges alone."""

import pytest

from hidet import ops
from hidet.graph import symbol, trace_from
from hidet.optimize import optimize, split
from hidet.optimize.layout.channels_first import channels_first
from hidet.testing.graph_passes import kinds, same_value, weight


def turned(x):
    """[n, ..., c] as [n, c, ...]."""
    return ops.permute(x, (0, x.ndim - 1, *range(1, x.ndim - 1)))


def back(x):
    """[n, c, ...] as [n, ..., c]."""
    return ops.permute(x, (0, *range(2, x.ndim), 1))


def convolved(x, out, window=3, **how):
    """A convolution of x[n, h, w, c], as frontends write it."""
    image = turned(x)
    taps = weight(out, image.shape[1], *(window,) * (x.ndim - 2))
    return back(ops.conv(image, taps, padding=window // 2, **how))


def scaled(x):
    """A batch norm as Keras spells it."""
    return x * weight(x.shape[-1], low=0.5) + weight(x.shape[-1])


def main_of(graph, last=False):
    """What is left to do at each call."""
    same_value(graph, channels_first(graph))
    return kinds(split(optimize(graph, channels_last=lambda op: last)).main)


def test_text():
    x = symbol((1, 8, 8, 3))
    before = trace_from([convolved(ops.relu(convolved(x, 4)), 5)], [x])
    assert kinds(channels_first(before)) == ["permute", "conv", "relu", "conv", "permute"]


@pytest.mark.parametrize("last", [False, True])
def test_a_residual_block_has_one_permutation_at_each_end(last):
    x = symbol((2, 8, 6, 3))
    start = ops.relu(scaled(convolved(x, 4)))
    end = ops.relu(scaled(convolved(start, 4)) + start)
    found = main_of(trace_from([end], [x]), last)
    assert found.count("permute") == (0 if last else 2)
    assert "multiply" not in found, "batch norms are in the weights"


def test_means_over_places_end_a_region():
    x = symbol((2, 8, 6, 3))
    graph = trace_from([ops.mean(ops.relu(convolved(x, 4)), (1, 2))], [x])
    assert main_of(graph) == ["permute", "conv", "relu", "mean"]


def test_a_gate_of_channels_takes_no_permutation():
    x = symbol((2, 8, 6, 3))
    y = convolved(x, 4)
    gate = ops.reshape(ops.mean(y, (1, 2)), (2, 1, 1, 4))
    hidden = ops.relu(convolved(gate, 3, 1) + weight(3))
    gates = ops.sigmoid(convolved(hidden, 4, 1) + weight(4))
    graph = trace_from([convolved(y * gates, 5)], [x])
    found = main_of(graph)
    assert found.count("permute") == 2
    assert "add" not in found, "summands of channels are the convolutions' bias"


def test_pools_slices_padding_and_concatenation_follow():
    x = symbol((2, 8, 6, 3))
    y = convolved(x, 4)
    pooled = back(ops.max_pool(turned(ops.pad(y, [(0, 0), (1, 0), (0, 1), (0, 0)])), 2, stride=1))
    joined = ops.concat([pooled, ops.slice(y, 3, 1, 3)], 3)
    graph = trace_from([convolved(joined, 3)], [x])
    assert main_of(graph).count("permute") == 2


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_resized_images_follow(mode):
    x = symbol((2, 8, 6, 3))
    larger = ops.resize(convolved(x, 4), sizes=(9, 13), axes=(1, 2), mode=mode)
    graph = trace_from([convolved(ops.relu(larger), 3)], [x])
    assert main_of(graph).count("permute") == 2


def test_norms_over_last_channels_stay():
    x = symbol((2, 7, 5, 4))
    y = convolved(convolved(x, 4), 4, groups=1)
    graph = trace_from([ops.layer_norm(y, weight(4), weight(4)) + x], [x])
    found = main_of(graph)
    assert found.count("permute") == 2
    assert "layer_norm" in found


def test_one_spatial_axis():
    x = symbol((2, 7, 4))
    graph = trace_from([convolved(ops.tanh(convolved(x, 4)), 3)], [x])
    assert main_of(graph) == ["permute", "conv", "tanh", "conv", "permute"]


def test_graphs_without_such_convolutions_stay_as_they_are():
    x = symbol((1, 3, 8, 8))
    graph = trace_from([ops.relu(ops.conv(x, weight(4, 3, 3, 3)))], [x])
    assert channels_first(graph) is graph


def tiled(x, axis, count):
    """Each element along an axis so often, as Keras' UpSampling2D spells it."""
    wide = ops.unsqueeze(x, axis + 1)
    counts = [1] * wide.ndim
    counts[axis + 1] = count
    shape = list(x.shape)
    shape[axis] *= count
    return ops.reshape(ops.tile(wide, counts), shape)


@pytest.mark.parametrize("repeat", [tiled, lambda x, axis, n: ops.repeat_interleave(x, n, axis)])
@pytest.mark.parametrize("images", [2, "n"])
def test_repeated_rows_and_columns_take_no_permutation(images, repeat):
    x = symbol((images, 4, 6, 3))
    y = repeat(repeat(ops.relu(convolved(x, 4)), 1, 2), 2, 3)
    graph = trace_from([convolved(y, 5)], [x])
    if images == "n":
        assert kinds(split(optimize(graph)).main).count("permute") == 2
    else:
        assert main_of(graph).count("permute") == 2


def test_what_is_repeated_as_a_whole_is_no_repetition_of_rows():
    x = symbol((2, 4, 6, 3))
    y = ops.relu(convolved(x, 4))
    twice = ops.reshape(ops.tile(ops.unsqueeze(y, 1), (1, 2, 1, 1, 1)), (2, 8, 6, 4))
    graph = trace_from([convolved(twice, 5)], [x])
    same_value(graph, channels_first(graph))
