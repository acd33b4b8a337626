"""Convolutions of few channels in blocks of pixels: the same values, whatever windows and steps."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.choosing.grouping import optimized
from hidet.graph import from_numpy, symbol, trace_from
from hidet.graph.evaluate import evaluate
from hidet.ir.expr import Var
from hidet.ops.windows.conv import Conv
from hidet.optimize.layout.assign_layout import assign_layout
from hidet.optimize.layout.blocks import has_blocks
from hidet.target import Target
from hidet.testing.graph_passes import kinds, same_value, weight
from hidet.types import i32

TARGET = Target.parse("sm_90a")


def always(*ops):
    return True


def convolution(x, w, dtype="float16", **how):
    """A graph of one convolution with a bias, and its operator."""
    image = symbol(x, dtype)
    taps, shift = (from_numpy(weight(*shape).numpy().astype(dtype)) for shape in (w, w[:1]))
    graph = trace_from([ops.relu(ops.conv(image, taps, shift, **how))], [image])
    return graph, next(node.op for node in graph.nodes if isinstance(node.op, Conv))


@pytest.mark.parametrize(
    ("x", "w", "how"),
    [
        ((2, 3, 14, 13), (5, 3, 6, 4), {"stride": 2, "padding": 3}),
        ((1, 3, 9, 9), (4, 3, 2, 2), {"stride": 2}),
        ((2, 3, 16, 16), (4, 3, 4, 4), {"stride": 4}),
        ((1, 1, 11, 17), (3, 1, 4, 6), {"stride": (2, 3), "padding": ((1, 2), (0, 1))}),
        ((2, 5, 31), (7, 5, 4), {"stride": 2, "padding": 1}),
        ((1, 1, 5, 6, 7), (2, 1, 2, 4, 2), {"stride": 2, "padding": 1}),
    ],
    ids=str,
)
def test_values(x, w, how):
    graph, op = convolution(x, w, **how)
    assert has_blocks(op)
    after = assign_layout(graph, always, always)
    inner = [node.op for node in after.nodes if isinstance(node.op, Conv)]
    assert all(set(each.stride) == {1} for each in inner)
    same_value(graph, after)


@pytest.mark.parametrize(
    ("x", "w", "how"),
    [
        ((2, 3, 23, 21), (5, 3, 7, 7), {"stride": 2}),
        ((1, 3, 11, 17), (4, 3, 3, 5), {"stride": (2, 3), "padding": ((1, 0), (0, 1))}),
        ((2, 1, 31), (7, 1, 3), {"stride": 2, "padding": 2}),
    ],
    ids=str,
)
def test_windows_of_integers_become_whole_blocks(x, w, how):
    """What lies beside a window is multiplied by zero."""
    random = np.random.default_rng(0)
    image = symbol(x, "uint8")
    taps = from_numpy(random.integers(-128, 128, w).astype(np.int8))
    graph = trace_from([ops.conv(image, taps, dtype=i32, **how)], [image])
    after = assign_layout(graph, always, always)
    (inner,) = (node.op for node in after.nodes if isinstance(node.op, Conv))
    assert set(inner.stride) == {1}
    given = random.integers(0, 256, x).astype(np.uint8)
    np.testing.assert_array_equal(evaluate(after, given)[0], evaluate(graph, given)[0])


def test_windows_of_one_block_are_a_linear_layer():
    graph, _ = convolution((2, 3, 16, 16), (4, 3, 4, 4), stride=4)
    found = kinds(assign_layout(graph, always, always))
    assert "linear" in found
    assert "conv" not in found


@pytest.mark.parametrize(
    ("x", "w", "how"),
    [
        ((1, 3, 9, 9), (4, 3, 3, 3), {}),
        ((1, 8, 9, 9), (4, 8, 4, 4), {"stride": 2}),
        ((1, 3, 9, 9), (4, 3, 4, 4), {"stride": (1, 2)}),
        ((1, 3, 9, 9), (4, 3, 4, 4), {"stride": 2, "dilation": 2}),
        ((1, 6, 9, 9), (4, 3, 4, 4), {"stride": 2, "groups": 2}),
        ((1, 3, Var("h", i32), 9), (4, 3, 4, 4), {"stride": 2}),
        ((1, 3, 9, 9), (4, 3, 4, 3), {"stride": 2}),  # no whole blocks
        ((1, 3, 9, 9), (4, 3, 2, 2), {"stride": 3}),
    ],
    ids=str,
)
def test_what_has_none(x, w, how):
    assert not has_blocks(convolution(x, w, **how)[1])


def half(*shape):
    return from_numpy(np.zeros(shape, np.float16))


def strides(target, window, step):
    """Of the convolution that a first layer becomes."""
    x = symbol((32, 3, 224, 224), "float16")
    y = ops.conv(x, half(64, 3, window, window), half(64), stride=step, padding=2)
    graph = optimized(trace_from([y], [x]), target)
    return [node.op.stride for node in graph.nodes if isinstance(node.op, Conv)]


def test_targets_have_them_where_they_gain():
    assert strides(Target.parse("sm_80"), 6, 2) == [(1, 1)]
    assert strides(TARGET, 6, 2) == [(2, 2)]  # `conv_overlap` finds its own lines
    assert strides(TARGET, 11, 4) == [(4, 4)]  # no whole blocks
    assert strides(Target.parse("cpu"), 6, 2) == [(2, 2)]
