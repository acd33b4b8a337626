"""Transposed convolutions against what they mean: every element times the window, added up."""

import itertools

import numpy as np
import pytest

from hidet import ops
from hidet.graph import FlowGraph, evaluate, symbol
from hidet.ops.tensors.pad import Pad
from hidet.ops.windows.conv import Conv
from hidet.types import f64


def meant(x, weight, bias, steps, cut, more, groups):
    """The sums, element by element."""
    images, channels, *sizes = x.shape
    _, out, *window = weight.shape
    rank = len(sizes)
    full = [(n - 1) * s + k + m for n, s, k, m in zip(sizes, steps, window, more, strict=True)]
    y = np.zeros((images, groups * out, *full))
    each = channels // groups
    for place in itertools.product(*map(range, sizes)):
        for g in range(groups):
            some = x[(slice(None), slice(g * each, (g + 1) * each), *place)]
            part = np.tensordot(some, weight[g * each : (g + 1) * each], 1)
            at = tuple(
                slice(p * s, p * s + k) for p, s, k in zip(place, steps, window, strict=True)
            )
            y[(slice(None), slice(g * out, (g + 1) * out), *at)] += part
    ends = [size - c for size, c in zip(full, cut, strict=True)]
    y = y[(slice(None), slice(None), *(slice(c, e) for c, e in zip(cut, ends, strict=True)))]
    return y + bias.reshape(-1, *(1,) * rank)


CASES = [
    # sizes, channels in and out of a group, window, stride, padding, output padding, groups
    ((5,), 2, 3, (4,), (2,), (1,), (1,), 1),
    ((7,), 3, 2, (2,), (3,), (0,), (2,), 2),  # windows that leave places out
    ((6,), 1, 1, (1,), (2,), (0,), (0,), 1),
    ((4, 3), 2, 3, (2, 2), (2, 2), (0, 0), (0, 0), 1),
    ((4, 5), 3, 2, (4, 4), (2, 2), (1, 1), (0, 0), 1),
    ((3, 4), 2, 2, (3, 5), (2, 3), (2, 4), (1, 2), 3),
    ((5, 4), 1, 2, (3, 1), (1, 2), (0, 0), (0, 1), 2),
    ((6, 6), 2, 1, (3, 3), (2, 2), (3, 3), (1, 1), 1),  # more is cut off than one side has
    ((2, 3, 2), 2, 2, (2, 3, 1), (2, 1, 2), (0, 1, 0), (1, 0, 0), 1),
]


@pytest.mark.parametrize(
    ("sizes", "each", "out", "window", "steps", "cut", "more", "groups"), CASES
)
@pytest.mark.parametrize("is_open", [False, True])
def test_sums(sizes, each, out, window, steps, cut, more, groups, is_open):
    rng = np.random.default_rng(0)
    given = rng.standard_normal((2, groups * each, *sizes))
    weight = rng.standard_normal((groups * each, out, *window))
    bias = rng.standard_normal(groups * out)
    shape = ("n", groups * each, "size", *sizes[1:]) if is_open else given.shape
    x, w, b = symbol(shape, f64), symbol(weight.shape, f64), symbol(bias.shape, f64)
    y = ops.conv_transpose(x, w, b, stride=steps, padding=cut, output_padding=more, groups=groups)
    (found,) = evaluate(FlowGraph([x, w, b], [y]), given, weight, bias)
    expected = meant(given, weight, bias, steps, cut, more, groups)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_no_zeros_are_multiplied():
    x, w = symbol((1, 8, 9, 9), f64), symbol((8, 4, 2, 2), f64)
    graph = FlowGraph([x, w], [ops.conv_transpose(x, w, stride=2)])
    (conv,) = (node.op for node in graph.nodes if isinstance(node.op, Conv))
    assert conv.x.shape == (1, 8, 9, 9)
    assert conv.weight.shape == (16, 8, 1, 1)
    assert not any(isinstance(node.op, Pad) for node in graph.nodes)
