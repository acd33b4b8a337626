"""Norms between products without a kernel of their own."""

import numpy as np
import pytest

from hidet import ops
from hidet.graph import evaluate, symbol, trace_from
from hidet.optimize.merge.hand_norms import hand_norms
from hidet.optimize.split import split
from hidet.options import options
from hidet.testing.graph_passes import kinds, same_value, weight

WIDTH = 64
X, R = symbol((3, 24)), symbol((3, WIDTH))


def always(op, product):
    return True


def rows(x=X, residual=R):
    """A product with a residual."""
    return ops.linear(x, weight(WIDTH, 24), weight(WIDTH)) + residual


def layer_norm(h):
    return ops.layer_norm(h, weight(WIDTH), weight(WIDTH, high=0.5))


def without_factors(h):
    return ops.layer_norm(h)


def without_shift(h):
    return ops.layer_norm(h, weight(WIDTH))


@pytest.mark.parametrize("norm", [layer_norm, without_factors, without_shift])
@pytest.mark.parametrize("bias", [True, False])
def test_a_norm_between_products(norm, bias):
    y = ops.linear(norm(rows()), weight(7, WIDTH), weight(7) if bias else None)
    before = trace_from([y], [X, R])
    after = hand_norms(before, always)
    assert not {"layer_norm", "linear"} & set(kinds(after))
    assert [each for each in kinds(after) if each.endswith(("linear", "moments"))] == [
        "linear_moments",
        "normed_linear",
    ]
    same_value(before, after)


def test_nothing_changes_unless_it_suits_all():
    h = rows()
    graph = trace_from([ops.linear(layer_norm(h), weight(n, WIDTH)) for n in (7, 9)], [X, R])
    assert hand_norms(graph) is graph
    assert hand_norms(graph, lambda op, product: op.name == "linear_moments") is graph
    with options(fusion=False):
        assert hand_norms(graph, always) is graph


def test_several_products_and_layers():
    """Rows are a residual, too; products of a norm need not be one."""
    h = rows()
    for _ in range(2):
        normed = layer_norm(h)
        left, right = (ops.linear(normed, weight(24, WIDTH)) for _ in range(2))
        h = rows(ops.relu(left) * right, h)
    before = trace_from([layer_norm(h), h], [X, R])
    after = hand_norms(before, always)
    assert kinds(after).count("normed_linear") == 4
    assert kinds(after).count("linear_moments") == 2
    assert kinds(after).count("layer_norm") == 1
    same_value(before, after)


def test_a_product_between_two_norms():
    """It takes the first one in, so that it cannot hand moments on."""
    h = ops.linear(layer_norm(rows()), weight(WIDTH, WIDTH)) + R
    before = trace_from([ops.linear(layer_norm(h), weight(7, WIDTH))], [X, R])
    after = hand_norms(before, always)
    assert [kinds(after).count(each) for each in ("normed_linear", "layer_norm", "linear")] == [
        1,
        1,
        1,
    ]
    same_value(before, after)


def after_sums(h, layers, norm=layer_norm):
    """Layers that norm what they have added up, as those of BERT do."""
    for _ in range(layers):
        h = norm(rows(ops.relu(ops.linear(h, weight(24, WIDTH))), h))
    return h


def counts(graph):
    """How many products hand moments on and norm, and how many norms are left."""
    return [kinds(graph).count(each) for each in ("linear_moments", "normed_linear", "layer_norm")]


@pytest.mark.parametrize("norm", [layer_norm, without_factors, without_shift])
def test_normed_rows_are_a_residual(norm):
    """The last norm is a result, and what the first one norms no product has made."""
    before = trace_from([after_sums(norm(R), 3, norm)], [R])
    after = hand_norms(before, always)
    assert counts(before) == [0, 0, 4]
    assert counts(after) == [3, 2, 2]
    same_value(before, after)


def test_normed_rows_are_a_residual_of_products_without_bias_and_in_other_shapes():
    x, r = symbol((1, 3, 24)), symbol((1, 3, WIDTH))
    h = layer_norm(ops.linear(x, weight(WIDTH, 24)) + r)
    flat = ops.reshape(h, (3, WIDTH))
    y = ops.matmul(ops.relu(ops.linear(flat, weight(24, WIDTH))), weight(24, WIDTH))
    before = trace_from([ops.reshape(h, (3, WIDTH)) + y], [x, r])
    after = hand_norms(before, always)
    assert counts(after) == [2, 1, 0]
    same_value(before, after)


def test_weights_that_others_read_or_between_sums_that_are_normed_stay_as_they_are():
    """A copy would lie beside the old one; its rounding would add up from layer to layer."""
    normed, w = layer_norm(rows()), weight(7, WIDTH)
    y, u = ops.linear(normed, w), ops.linear(X, weight(WIDTH, 24)) + normed
    for outputs, stays in (([y], False), ([y, ops.linear(R, w)], True), ([y, u], True)):
        before = trace_from(outputs, [X, R])
        after = hand_norms(before, always)
        (product,) = (node for node in after.nodes if node.op.name == "normed_linear")
        assert (product.inputs[1] is w) is stays
        assert counts(after)[2] == 0
        same_value(before, after)


def test_rows_in_another_shape():
    """As in OPT: what is normed and read again is the sum in other axes."""
    h = ops.reshape(rows(), (1, 3, WIDTH))
    before = trace_from([ops.linear(layer_norm(h), weight(7, WIDTH)), h], [X, R])
    after = hand_norms(before, always)
    assert counts(after) == [1, 1, 0]
    same_value(before, after)


def test_two_norms_of_the_same_rows():
    """These are written times one gain."""
    h = rows()
    norms = layer_norm(h), without_factors(h)
    products = [ops.linear(each, weight(n, WIDTH)) for each, n in zip(norms, (7, 9), strict=True)]
    before = trace_from(products, [X, R])
    after = hand_norms(before, always)
    assert counts(after) == [1, 1, 1]
    same_value(before, after)


def test_a_residual_is_normed_only_where_it_suits_its_product():
    graph = trace_from([after_sums(layer_norm(rows()), 2)], [X, R])
    assert hand_norms(graph, lambda op, _: getattr(op, "gain", None) is None) is graph


def test_products_spelled_with_shapes_and_a_bias_apart():
    """As in GPT-2: weights [k, n], in two axes, of rows in three."""
    x, r = symbol((1, 3, 24)), symbol((1, 3, WIDTH))
    flat = ops.matmul(ops.reshape(x, (3, 24)), weight(24, WIDTH)) + weight(WIDTH)
    h = r + ops.reshape(flat, (1, 3, WIDTH))
    y = ops.matmul(ops.reshape(layer_norm(h), (3, WIDTH)), weight(WIDTH, 7))
    before = trace_from([ops.reshape(weight(7) + y, (1, 3, 7)), h], [x, r])
    after = hand_norms(before, always)
    assert kinds(split(after).main)[-4:] == [
        "linear_moments",
        "normed_linear",
        "reshape",
        "reshape",
    ]
    assert {"linear_moments", "normed_linear"} < set(kinds(after))
    assert "layer_norm" not in kinds(after)
    same_value(before, after)


def test_what_stays_apart():
    given, w = symbol((7, WIDTH), name="w"), weight(7, WIDTH)
    h, product = rows(), ops.linear(X, weight(WIDTH, 24))
    normed = layer_norm(h)
    narrow = ops.linear(X, weight(33, 24)) + symbol((3, 33))
    for outputs in (
        [ops.linear(layer_norm(R), w)],  # rows that no product makes
        [ops.linear(layer_norm(product), w)],  # no residual
        [ops.linear(layer_norm(product + R), w), product],  # somebody else reads the product
        [ops.linear(normed, given)],  # a weight that is not known
        [normed, ops.linear(normed, w)],  # somebody else reads the norm
        [ops.linear(ops.relu(normed), w)],
        [ops.linear(ops.layer_norm(narrow), weight(7, 33))],  # no runs
        [ops.linear(ops.layer_norm(h, axes=(0, 1)), w)],
        [ops.softmax(normed)],
        [ops.linear(normed, weight(WIDTH, WIDTH)) + normed],  # it would norm its own rows
        [ops.linear(normed, w), product + normed, product],  # somebody else reads the product
        [product + normed],  # no product reads it
    ):
        graph = trace_from(outputs)
        assert hand_norms(graph, always) is graph


@pytest.mark.parametrize("distance", [0, 20, 1000])
def test_rows_far_from_zero(distance):
    """Sums of squares about each run's own mean lose nothing to a mean that is far away."""
    h = rows()
    graph = hand_norms(trace_from([ops.linear(layer_norm(h), weight(7, WIDTH)), h], [X, R]), always)
    random = np.random.default_rng(0)
    x, r = random.normal(size=(3, 24)), random.normal(size=(3, WIDTH)) + distance
    y, near = evaluate(graph, x, r)[0], evaluate(graph, x, r - distance)[0]
    np.testing.assert_allclose(y, near, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("distance", [0, 20, 1000])
def test_residuals_far_from_zero(distance):
    """A mean is taken off before a residual is scaled."""
    graph = hand_norms(trace_from([after_sums(layer_norm(rows()), 1)], [X, R]), always)
    assert counts(graph) == [2, 1, 1]
    random = np.random.default_rng(0)
    x, r = random.normal(size=(3, 24)), random.normal(size=(3, WIDTH)) + distance
    y, near = evaluate(graph, x, r)[0], evaluate(graph, x, r - distance)[0]
    np.testing.assert_allclose(y, near, rtol=1e-6, atol=1e-6)
