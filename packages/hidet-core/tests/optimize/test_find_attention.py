"""Attention found whatever way it is spelled."""

import pytest

from hidet import ops
from hidet.graph import symbol, trace_from, tracing
from hidet.optimize import optimize
from hidet.optimize.find.attention import find_attention
from hidet.optimize.normalize import normalize
from hidet.options import options
from hidet.testing.graph_passes import kinds, lines, same_value

Q, K = symbol((2, 3, 5, 8)), symbol((2, 3, 7, 8))
V = symbol((2, 3, 7, 4))
MASK = symbol((2, 1, 5, 7))
MASK_OF_HEADS, ROWS = symbol((2, 3, 5, 7)), symbol((5, 7))
ALL = (Q, K, V, MASK, MASK_OF_HEADS)


def spelled(before=lambda s: s, inputs=(Q, K, V), weights=lambda w: w):
    scores = before(ops.matmul(Q, ops.transpose(K)))
    made = ops.matmul(weights(ops.softmax(scores, -1)), V)
    return trace_from([made], inputs)


def found(graph):
    after = find_attention(normalize(graph))
    same_value(graph, after, 1e-6)
    return after


def test_the_text_before_and_after():
    before = spelled(lambda s: s / 8.0)
    assert lines(before) == [
        "x_3 = Permute(x_1)",
        "x_4 = Matmul(x, x_3)",
        "x_5 = Full(shape=())",
        "x_6 = Divide(x_4, x_5)",
        "x_7 = Softmax(x_6)",
        "x_8 = Matmul(x_7, x_2)",
        "return x_8",
    ]
    after = found(before)
    assert lines(after) == ["x_3 = Attention(x, x_1, x_2)", "return x_3"]
    assert after.nodes[0].op.scale == 0.125


@pytest.mark.parametrize(
    "after",
    [
        lambda s: s,
        lambda s: s + MASK,
        lambda s: ops.masked_fill(s, ops.greater(MASK, 5.0), float("-inf")),
    ],
)
def test_scores_held_within_bounds(after):
    made = found(spelled(lambda s: after(ops.tanh(s * 0.25 / 3.0) * 3.0), (Q, K, V, MASK)))
    op = made.nodes[-1].op
    assert op.name == "attention"
    assert op.steps == (("tanh", 0.0), ("multiply", 3.0))
    assert abs(op.scale - 0.25 / 3) < 1e-9


def test_several_functions_of_scores_in_order():
    made = found(spelled(lambda s: ops.sin(ops.exp(s * 0.1) * 2.0)))
    assert made.nodes[-1].op.steps == (
        ("exp", 0.0), ("multiply", 2.0), ("sin", 0.0), ("multiply", 1.0),
    )  # fmt: skip


@pytest.mark.parametrize(
    "before",
    [
        lambda s: ops.tanh(s + MASK),
        lambda s: ops.tanh(s * MASK_OF_HEADS[:, :, :1, :1]),
        lambda s: ops.tanh(s) * MASK_OF_HEADS[:, :, :1, :1],
        lambda s: ops.floor(s),
        lambda s: ops.tanh(ops.masked_fill(s, ops.greater(MASK, 5.0), -1e9)),
    ],
)
def test_functions_of_more_than_products_stay_spelled(before):
    assert "attention" not in kinds(found(spelled(before, ALL)))


@pytest.mark.parametrize(
    "before",
    [
        lambda s: s * 0.5 + MASK,
        lambda s: MASK + 0.5 * s,
        lambda s: ops.where(ops.greater(MASK, 0.0), s, -1e9),
        lambda s: ops.where(ops.greater(MASK, 1.5), -3e38, s * 0.5),
        lambda s: ops.where(ops.greater(MASK, -9.0), s, float("-inf")),
        lambda s: ops.masked_fill(s, ops.greater(MASK, 5.0), float("-inf")),
        lambda s: (s + MASK) * 0.5,
        lambda s: s * 0.5 + MASK + ops.sin(MASK),
        lambda s: ops.where(ops.greater(MASK, 0.0), s * 0.5, -3e38) + far(1.0),
        lambda s: ops.masked_fill(s + MASK, ops.greater(MASK, 5.0), float("-inf")) * 0.5,
        lambda s: ops.masked_fill(never(s, 5.0), ops.less(MASK, -5.0), float("-inf")),
        lambda s: never(s, 1.0, -1e9) * 0.25 + MASK,
    ],
)
def test_masks(before):
    after = found(spelled(before, (Q, K, V, MASK)))
    assert kinds(after)[-1] == "attention"
    assert "softmax" not in kinds(after)


def far(least):
    """A mask of large negative numbers."""
    return ops.where(ops.greater(MASK, least), -1e9, ops.zeros(MASK.shape))


def never(scores, most, low=float("-inf")):
    return ops.masked_fill(scores, ops.greater(MASK, most), low)


@pytest.mark.parametrize(
    "shape", [(), (1,), (3, 1, 1), (2, 3, 1, 1), (5, 1), (2, 3, 5, 1)], ids=str
)
def test_a_scale_of_each_head_or_query_goes_to_the_queries(shape):
    factor = symbol(shape)
    for before in (lambda s: s * factor, lambda s: (s + MASK) * factor * 0.5):
        after = found(spelled(before, (Q, K, V, MASK, factor)))
        assert "attention" in kinds(after)
        assert "softmax" not in kinds(after)
    divided = spelled(lambda s: s / (ops.square(factor) + 1.0), (Q, K, V, factor))
    assert "attention" in kinds(found(divided))


def flat(x):
    """Batch and heads as one axis."""
    return ops.reshape(x, (-1, *x.shape[-2:]))


@pytest.mark.parametrize(
    ("before", "inputs"),
    [
        (lambda s: s * 0.5, ()),
        (lambda s: flat(ops.reshape(s, (2, 3, 5, 7)) + MASK), (MASK,)),
        (lambda s: flat(ops.reshape(s * 0.5 + flat(MASK_OF_HEADS), (2, 3, 5, 7)) + MASK), None),
        (lambda s: flat(ops.reshape(s + ROWS, (2, 3, 5, 7)) + MASK), None),
    ],
)
def test_products_in_a_batch_of_one_axis(before, inputs):
    scores = before(ops.matmul(flat(Q), flat(K), transpose_b=True))
    made = ops.reshape(ops.matmul(ops.softmax(scores), flat(V)), (2, 3, 5, 4))
    given = (Q, K, V, *((MASK, MASK_OF_HEADS, ROWS) if inputs is None else inputs))
    after = found(trace_from([made], given))
    assert "attention" in kinds(after)
    assert "softmax" not in kinds(after)


def test_queries_that_share_a_head_as_rows_of_one_product():
    q, k, v = symbol((2, 4, 5, 8)), symbol((2, 2, 7, 8)), symbol((2, 2, 7, 8))
    rows = ops.matmul(ops.reshape(q, (2, 2, 10, 8)), k, transpose_b=True)
    weights = ops.softmax(ops.reshape(rows, (2, 4, 5, 7)))
    made = ops.matmul(ops.reshape(weights, (2, 2, 10, 7)), v)
    assert "attention" in kinds(found(trace_from([made], [q, k, v])))


def test_images_whose_channels_come_first():
    q, k, v = symbol((2, 8, 5)), symbol((2, 8, 7)), symbol((2, 3, 7))
    weights = ops.softmax(ops.matmul(q, k, transpose_a=True) * 0.5)
    after = found(trace_from([ops.matmul(v, weights, transpose_b=True)], [q, k, v]))
    assert kinds(after) == ["permute", "permute", "permute", "attention", "permute"]


def test_matrices_without_a_batch():
    q, k, v = symbol((5, 8)), symbol((7, 8)), symbol((7, 4))
    weights = ops.softmax(ops.matmul(q, k, transpose_b=True))
    assert "attention" in kinds(found(trace_from([ops.matmul(weights, v)], [q, k, v])))


def test_casts_around_the_softmax():
    q, k, v = (symbol((3, 5, 8), "float16") for _ in range(3))
    scores = ops.cast(ops.matmul(q, k, transpose_b=True) * 0.25, "float32")
    made = ops.matmul(ops.cast(ops.softmax(scores), "float16"), v)
    assert kinds(find_attention(trace_from([made], [q, k, v]))) == ["attention"]


def test_what_is_no_attention():
    graph = spelled(lambda s: s + MASK * 2.0, (Q, K, V, MASK))
    assert kinds(found(graph))[-1] == "attention"
    rows = ops.slice(MASK, -2, 0, 1)
    for before in (lambda s: ops.floor(s), lambda s: s * rows, lambda s: ops.where(MASK > 0, s, 0)):
        assert "softmax" in kinds(found(spelled(before, (Q, K, V, MASK))))
    scores = ops.matmul(Q, K, transpose_b=True)
    weights = ops.softmax(scores)
    shared = trace_from([ops.matmul(weights, V), weights], [Q, K, V])
    assert find_attention(shared) is shared
    columns = trace_from([ops.matmul(ops.softmax(scores, -2), V)], [Q, K, V])
    assert find_attention(columns) is columns


def test_scales_of_zero_are_no_error():
    divided = find_attention(normalize(spelled(lambda s: s / 0.0)))
    assert divided.nodes[-1].op.infer() == V.type.with_(shape=(2, 3, 5, 4))
    nothing = spelled(lambda s: never(s, 1.0) * 0.0, (Q, K, V, MASK))  # -inf * 0 is no number
    assert "softmax" in kinds(find_attention(normalize(nothing)))


def test_heads_that_were_repeated_are_read_once():
    q = symbol((1, 6, 5, 8))
    k, v = symbol((1, 2, 7, 8)), symbol((1, 2, 7, 8))
    wide = [ops.repeat_interleave(each, 3, 1) for each in (k, v)]
    before = trace_from([ops.attention(q, *wide, scale=0.5)], [q, k, v])
    after = normalize(found(before))
    assert kinds(after) == ["attention"]
    assert after.nodes[0].op.k.shape == (1, 2, 7, 8)


@pytest.mark.parametrize("rank", [4, 5])
def test_one_head_that_is_expanded_is_read_once(rank):
    lead = (2,) * (rank - 3)
    q, k = symbol((*lead, 3, 5, 8)), symbol((*lead, 1, 7, 8))
    wide = ops.expand(k, (*lead, 3, 7, 8))
    weights = ops.softmax(ops.matmul(q, ops.transpose(wide)))
    after = found(trace_from([ops.matmul(weights, wide)], [q, k]))
    assert kinds(after) == ["attention"]


def test_tiled_heads_stay():
    q, k = symbol((1, 6, 5, 8)), symbol((1, 2, 7, 8))
    wide = ops.reshape(ops.expand(ops.reshape(k, (1, 1, 2, 7, 8)), (1, 3, 2, 7, 8)), (1, 6, 7, 8))
    graph = trace_from([ops.attention(q, wide, wide, scale=0.5)], [q, k])
    assert find_attention(graph) is graph


def zeros_for_nan(weights):
    """What exporters of ONNX write behind each softmax."""
    return ops.masked_fill(weights, ops.isnan(weights), 0.0)


def test_zeros_for_rows_that_keep_nothing():
    low = symbol((2, 1, 5, 1))  # -inf in places, for whole rows
    for before in (lambda s: s, lambda s: s + MASK, lambda s: never(s, 1.0) * 0.5):
        after = found(spelled(before, (Q, K, V, MASK), zeros_for_nan))
        assert kinds(after)[-1] == "attention"
        assert not {"softmax", "isnan"} & {*kinds(after)}
    rows = ops.masked_fill(low, ops.less(low, 0.0), float("-inf"))
    after = found(spelled(lambda s: s + rows, (Q, K, V, low), zeros_for_nan))
    assert "softmax" not in kinds(after)


def test_other_uses_of_isnan_stay():
    shared = ops.softmax(ops.matmul(Q, ops.transpose(K)), -1)
    kept = trace_from([ops.matmul(zeros_for_nan(shared), V), shared], (Q, K, V))
    one = spelled(weights=lambda w: ops.masked_fill(w, ops.isnan(w), 1.0))
    other = spelled(weights=lambda w: ops.masked_fill(w, ops.isinf(w), 0.0))
    for graph in (kept, one, other):
        assert "softmax" in kinds(find_attention(normalize(graph)))


@pytest.mark.parametrize(
    "transposed", [lambda k: ops.transpose(k) * 0.5, lambda k: ops.transpose(k / 2)]
)
def test_operands_that_are_scaled_each(transposed):
    scores = ops.matmul(Q * 0.25, transposed(K))
    after = found(trace_from([ops.matmul(ops.softmax(scores, -1), V)], (Q, K, V)))
    assert kinds(after)[-1] == "attention"
    factor = after.nodes[-1].op.scale
    assert factor == (0.125 if len(after.nodes) == 1 else 0.25)


def scaled_heads(x, number):
    """Rows [b, n, h * d] times a number, by head."""
    return ops.permute(ops.reshape(x * number, (2, 5, 3, 8)), (0, 2, 1, 3))


def test_numbers_of_queries_and_keys_go_into_the_scale():
    x, w = symbol((2, 5, 16)), ops.ones((24, 16))
    q, k, v = (ops.linear(x, w) for _ in range(3))
    y = ops.attention(scaled_heads(q, 0.5), scaled_heads(k, 0.25), scaled_heads(v, 2.0), scale=4.0)
    made = found(trace_from([y], [x]))
    assert kinds(made).count("multiply") == 1  # of v
    assert made.nodes[-1].op.scale == 0.5


def test_where_each_operator_rounds_scales_stay():
    y = ops.attention(Q * 0.5, K, V)
    with options(round_each=True):
        assert "multiply" in kinds(found(trace_from([y], [Q, K, V])))


def test_a_mask_of_zeros_is_none():
    with tracing():
        zeros = ops.zeros((2, 1, 5, 7))
    after = found(spelled(lambda s: s * 0.5 + zeros))
    assert kinds(after) == ["attention"]
    assert after.nodes[0].op.mask is None


def test_attention_stays_whole_where_a_schedule_computes_it():
    graph = spelled()
    assert kinds(optimize(graph, scheduled=lambda op: op.name == "attention")) == ["attention"]
    assert "attention_weights" in kinds(optimize(graph))


def test_a_product_with_what_is_made_of_nothing_stays():
    x = symbol((4, 6))
    ones = ops.full((6, 3), 0.5)
    for graph in (trace_from([x @ ones], x), trace_from([ops.transpose(ones) @ x.T], x)):
        assert "matmul" in kinds(found(graph))
