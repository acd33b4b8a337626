"""Products in a batch of several axes, as PyTorch hands them over."""

import pytest

from hidet import ops
from hidet.graph import symbol, trace_from
from hidet.graph.dims import size_symbol
from hidet.optimize.pipeline import optimize
from hidet.optimize.unflatten_batch import unflatten_batch
from hidet.testing.graph_passes import kinds, lines, same_value


def flat(a, b, **given):
    """A product of 4-d tensors by way of 3-d ones."""
    batch = a.shape[0] * a.shape[1]
    left, right = (ops.reshape(x, (batch, *x.shape[2:])) for x in (a, b))
    product = ops.matmul(left, right, **given)
    return ops.reshape(product, (*a.shape[:2], *product.shape[1:]))


def test_the_text_before_and_after():
    a, b = symbol((2, 3, 5, 7)), symbol((2, 3, 7, 4))
    before = trace_from(flat(a, b), [a, b])
    assert lines(before) == [
        "x_2 = Reshape(x)",
        "x_3 = Reshape(x_1)",
        "x_4 = Matmul(x_2, x_3)",
        "x_5 = Reshape(x_4)",
        "return x_5",
    ]
    after = unflatten_batch(before)
    assert lines(after) == ["x_2 = Matmul(x, x_1)", "return x_2"]
    same_value(before, after)


@pytest.mark.parametrize(
    ("turned", "shapes"),
    [
        ("transpose_a", [(2, 3, 7, 5), (2, 3, 7, 4)]),
        ("transpose_b", [(2, 3, 5, 7), (2, 3, 4, 7)]),
    ],
)
def test_matrices_that_are_read_the_other_way_round(turned, shapes):
    a, b = map(symbol, shapes)
    before = trace_from(flat(a, b, **{turned: True}), [a, b])
    after = unflatten_batch(before)
    assert kinds(after) == ["matmul"]
    same_value(before, after)


def test_sizes_that_are_not_known_yet():
    n = size_symbol("n")
    a, b = symbol((2, 3, n, 7)), symbol((2, 3, 7, n))
    assert kinds(unflatten_batch(trace_from(flat(a, b), [a, b]))) == ["matmul"]


def test_a_product_that_is_read_as_it_is_stays():
    a, b = symbol((2, 3, 5, 7)), symbol((2, 3, 7, 4))
    y = flat(a, b)
    before = trace_from([y, ops.relu(y.trace[0].inputs[0])], [a, b])
    assert unflatten_batch(before) is before


def test_other_shapes_stay():
    a, b = symbol((2, 3, 5, 7)), symbol((6, 7, 4))
    left = ops.reshape(a, (6, 5, 7))
    for shape in ((3, 2, 5, 4), (6, 20)):
        before = trace_from(ops.reshape(ops.matmul(left, b), shape), [a, b])
        assert unflatten_batch(before) is before


def test_an_operand_that_never_had_these_axes_gets_them():
    a, b = symbol((2, 3, 5, 7)), symbol((6, 7, 4))
    before = trace_from(ops.reshape(ops.matmul(ops.reshape(a, (6, 5, 7)), b), (2, 3, 5, 4)), [a, b])
    after = unflatten_batch(before)
    assert kinds(after) == ["reshape", "matmul"]
    same_value(before, after)


def test_attention_is_found_behind_it():
    q, k, v = (symbol((2, 3, 5, 8)) for _ in range(3))
    scores = flat(q, ops.permute(k, (0, 1, 3, 2))) * 0.25
    before = trace_from(flat(ops.softmax(scores, -1), v), [q, k, v])
    after = optimize(before, scheduled=lambda op: op.name == "attention")
    assert kinds(after) == ["attention"]
    same_value(before, after, 1e-6)
