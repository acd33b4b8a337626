"""Layer norms found whatever way they are spelled."""

import pytest

from hidet import ops
from hidet.graph import symbol, trace_from
from hidet.optimize.find.norms import find_norms
from hidet.optimize.merge.share_results import share_results
from hidet.optimize.normalize import normalize
from hidet.testing.graph_passes import kinds, lines, same_value

X, WEIGHT, BIAS = symbol((2, 3, 7)), symbol((7,)), symbol((7,))
GIVEN = [X, WEIGHT, BIAS]


def found(y):
    graph = trace_from([y], GIVEN)
    after = find_norms(share_results(normalize(graph)))
    same_value(graph, after, 1e-6)
    return after


def centred(x, axes=-1):
    return x - ops.mean(x, axes, keepdims=True)


def variance(c, axes=-1):
    return ops.mean(c * c, axes, keepdims=True) + 1e-5


def test_the_text_before_and_after():
    c = centred(X)
    after = found(c / ops.sqrt(variance(c)) * WEIGHT + BIAS)
    assert lines(after) == ["x_3 = LayerNorm(x, x_1, x_2)", "return x_3"]
    assert abs(after.nodes[0].op.eps - 1e-5) < 1e-12


@pytest.mark.parametrize(
    "spell",
    [
        lambda: centred(X) / ops.sqrt(variance(centred(X))),  # the same twice
        lambda: centred(X) * ops.rsqrt(variance(centred(X))),
        lambda: WEIGHT * (ops.reciprocal(ops.sqrt(variance(centred(X)))) * centred(X)),
        lambda: BIAS + WEIGHT * (centred(X) / ops.sqrt(variance(centred(X)))),
        lambda: centred(X, (1, 2)) / ops.sqrt(variance(centred(X, (1, 2)), (1, 2))),
    ],
)
def test_spellings(spell):
    assert kinds(found(spell())) == ["layer_norm"]


WIDE = symbol((1, 1, 7))


@pytest.mark.parametrize("weight", [None, WEIGHT, WIDE])
@pytest.mark.parametrize(
    "shift",
    [
        lambda mean, factor: BIAS - mean * factor,
        lambda mean, factor: (-mean) * factor + BIAS,
        lambda mean, factor: -(mean * factor),
    ],
)
def test_by_one_factor_and_one_summand(weight, shift):
    mean = ops.mean(X, -1, keepdims=True)
    factor = ops.rsqrt(variance(centred(X)))
    factor = factor if weight is None else factor * weight
    graph = trace_from([X * factor + shift(mean, factor)], [*GIVEN, WIDE])
    after = find_norms(share_results(normalize(graph)))
    same_value(graph, after, 1e-6)
    has_bias = "BIAS" in str(shift.__code__.co_names)
    assert ("layer_norm" in kinds(after)) == (weight is not None or not has_bias)


@pytest.mark.parametrize(
    "spell",
    [
        lambda: X / ops.sqrt(variance(centred(X))),
        lambda: centred(X) / ops.sqrt(variance(X)),
        lambda: centred(X, 1) / ops.sqrt(variance(centred(X, 1), 1)),
        lambda: centred(X) / variance(centred(X)),
        lambda: centred(X, (1, 2)) / ops.sqrt(variance(centred(X))),
    ],
)
def test_what_is_none_stays(spell):
    assert "layer_norm" not in kinds(found(spell()))


def test_a_bias_without_a_weight_stays_a_sum():
    c = centred(X)
    assert kinds(found(c / ops.sqrt(variance(c)) + BIAS)) == ["layer_norm", "add"]
