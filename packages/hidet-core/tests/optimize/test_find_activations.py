"""Activations found whatever way they are spelled."""

import math

import pytest

from hidet import ops
from hidet.graph import symbol, trace_from
from hidet.optimize.find.activations import find_activations
from hidet.optimize.normalize import normalize
from hidet.testing.graph_passes import kinds, lines, same_value

X = symbol((3, 7))
ROOT = math.sqrt(2)


def found(y):
    graph = trace_from([y], [X])
    after = find_activations(normalize(graph))
    same_value(graph, after, 1e-6)
    return after


def cubic(x):
    return (x + 0.044715 * (x * x * x)) * 0.7978845608


def test_the_text_before_and_after():
    before = trace_from([X * ops.sigmoid(X)], [X])
    assert lines(before) == ["x_1 = Sigmoid(x)", "x_2 = Multiply(x, x_1)", "return x_2"]
    assert lines(find_activations(before)) == ["x_1 = Silu(x)", "return x_1"]


@pytest.mark.parametrize(
    "spell",
    [
        lambda x: x * 0.5 * (1.0 + ops.erf(x / ROOT)),
        lambda x: x * (0.5 * (ops.erf(x * (1 / ROOT)) + 1.0)),
        lambda x: (x * (1.0 + ops.erf(x / 1.4142135))) / 2.0,
        lambda x: 0.5 * x * ops.erfc(-x * (1 / ROOT)),
        lambda x: ops.erfc(x / -ROOT) * x / 2.0,
        lambda x: 0.5 * x * (1.0 + ops.tanh(cubic(x))),
        lambda x: x * (0.5 * (ops.tanh(0.7978846 * (0.044715 * x * x * x + x)) + 1.0)),
    ],
)
def test_gelu(spell):
    assert kinds(found(spell(X))) == ["gelu"]


@pytest.mark.parametrize(
    "spell",
    [
        lambda x: x * (1.0 + ops.erf(x / ROOT)),
        lambda x: 0.5 * x * (1.0 + ops.erf(x / 1.5)),
        lambda x: 0.5 * x * (2.0 + ops.erf(x / ROOT)),
        lambda x: 0.5 * ops.exp(x) * (1.0 + ops.erf(x / ROOT)),
        lambda x: 0.5 * x * ops.erfc(x * (1 / ROOT)),
        lambda x: -0.5 * x * ops.erfc(-x * (1 / ROOT)),
        lambda x: 0.5 * x * (1.0 + ops.tanh(x)),
        lambda x: 0.5 * x * (1.0 + ops.tanh((x + 0.05 * (x * x * x)) * 0.7978845608)),
        lambda x: x * ops.sigmoid(1.702 * x),
    ],
)
def test_what_is_none_stays(spell):
    graph = normalize(trace_from([spell(X)], [X]))
    assert find_activations(graph) is graph
