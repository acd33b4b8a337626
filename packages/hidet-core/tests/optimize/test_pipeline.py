"""Every pass of the list has something to do at its place in it."""

import pytest

from hidet import ops
from hidet.graph import symbol, trace_from
from hidet.graph.apply import tracing
from hidet.optimize import PASSES, optimize
from hidet.options import options
from hidet.testing.graph_passes import kinds, weight

X = symbol((2, 3, 8))
Q, K, V = (symbol((1, 2, 5, 8)) for _ in range(3))
IMAGE, ROWS = symbol((1, 4, 6, 6)), symbol((2, 3, 64))


def flat_batches():
    flat = [ops.reshape(each, (2, 5, 8)) for each in (Q, K)]
    return ops.reshape(ops.matmul(*flat, transpose_b=True), (1, 2, 5, 5))


def batch_norm():
    y = ops.conv2d(IMAGE, weight(6, 4, 3, 3))
    return ops.batch_norm(y, weight(6), weight(6, low=0.5), weight(6), weight(6))


def attention():
    return ops.matmul(ops.softmax(ops.matmul(Q, K, transpose_b=True) * 0.5), V)


def causal():
    place = ops.arange(0, 5)
    return ops.attention(Q, K, V, ops.less_equal(place, ops.unsqueeze(place, 1)))


def gated():
    return ops.silu(ops.linear(X, weight(6, 8))) * ops.linear(X, weight(6, 8, high=0.5))


def merged_matmuls():
    return [ops.softmax(ops.linear(X, weight(n, 8))) for n in (6, 7)]


def normed():
    h = ops.linear(X, weight(64, 8)) + ROWS
    return ops.linear(ops.layer_norm(h), weight(6, 64))


def spelled_norm():
    centred = X - ops.mean(X, -1, keepdims=True)
    return centred / ops.sqrt(ops.mean(centred * centred, -1, keepdims=True) + 1e-5)


def numbers():
    one = ops.full((), 0.5)
    return [ops.exp(X) + one, ops.softmax(X) * one]


def always():
    return ops.if_(ops.full((), True, "bool"), lambda: ops.exp(X), lambda: ops.tanh(X))


def sometimes():
    twice = lambda: ops.exp(ops.transpose(ops.transpose(X, 0, 1), 0, 1))
    return ops.if_(ops.sum(X) > 0, twice, lambda: ops.tanh(X))


def quantized():
    scale = weight(low=0.01)
    whole = (ops.quantize(each, scale, dtype="int8") for each in (X, weight(8, 6)))
    return ops.matmul(*(ops.dequantize(each, scale) for each in whole))


def about_a_point():
    scale, zero = ops.full((), 0.01, "float32"), ops.full((), -128, "int8")
    return ops.relu(ops.dequantize(ops.quantize(X, scale, zero), scale, zero))


def pooled_bytes():
    scale = ops.full((), 0.01, "float32")
    return ops.max_pool(ops.dequantize(ops.quantize(IMAGE, scale), scale), 2)


def requantized():
    real = ops.dequantize(ops.quantize(X, ops.full((), 0.01, "float32")), weight(low=0.01))
    return ops.quantize(real, ops.full((), 0.02, "float32"))


def packed():
    numbers, scale = ops.full((6, 4), 0x37, "uint8"), weight(6, 1)
    return ops.packed_linear(X, numbers, scale, block=8)


def written_with_channels_last():
    """A convolution of an image [n, h, w, c], and a function of what it gives."""
    image = ops.exp(ops.permute(IMAGE, (0, 2, 3, 1)))
    found = ops.conv2d(ops.permute(image, (0, 3, 1, 2)), weight(4, 4, 3, 3))
    return ops.relu(ops.permute(found, (0, 2, 3, 1)))


def rows_times_a_weight():
    by = weight(8, 6)
    iteration = lambda h, row: (ops.tanh(ops.matmul(row, by) + h), ())
    long = ops.concat([X] * 64, 0)  # fewer iterations would be written out one by one
    return list(ops.scan(iteration, [ops.zeros((3, 6))], [long])[0])


GRAPHS = {
    "settle_control": always,
    "recurrent_cells": rows_times_a_weight,
    "optimize_bodies": sometimes,
    "normalize": lambda: ops.exp(ops.transpose(ops.transpose(X, 0, 1), 0, 1)),
    "unflatten_batch": flat_batches,
    "unsigned_bytes": about_a_point,
    "integer_matmuls": quantized,
    "keep_bytes": pooled_bytes,
    "requantize": requantized,
    "unpack_weights": packed,
    "share_results": lambda: ops.exp(X) * ops.tanh(ops.exp(X)),
    "find_norms": spelled_norm,
    "find_activations": lambda: X * ops.sigmoid(X),
    "channels_first": written_with_channels_last,
    "fold_scale": batch_norm,
    "find_attention": attention,
    "read_masks": causal,
    "lower_precision": lambda: ops.linear(X, weight(6, 8)),
    "merge_gates": gated,
    "merge_horizontally": merged_matmuls,
    "hand_norms": normed,
    "assign_layout": lambda: ops.relu(ops.conv2d(IMAGE, weight(4, 4, 3, 3))),
    "spell_attention": lambda: ops.attention(Q, K, V),
    "spell_norms": lambda: ops.batch_norm(IMAGE, weight(4), weight(4, low=0.5)),
    "even_rows": lambda: ops.linear(ops.softmax(ops.linear(X, weight(7, 8))), weight(6, 7)),
    "separate_outputs": lambda: [ops.exp(X), X],
    "duplicate_creators": numbers,
}


@pytest.mark.parametrize("name", dict.fromkeys(each.__name__ for each in PASSES))
def test_a_pass_changes_a_graph(name):
    with tracing():
        made = GRAPHS[name]()
    outputs = made if isinstance(made, list) else [made]
    graph = trace_from(outputs, [X, Q, K, V, IMAGE, ROWS])
    texts, changed = [graph.show()], set()

    def watch(each, after):
        texts.append(after.show())
        if texts[-1] != texts[-2]:
            changed.add(each.__name__)

    with options(precision="float16" if name == "lower_precision" else ""):
        optimize(
            graph,
            [watch],
            channels_last=lambda op: name == "assign_layout",
            suits=lambda op, product: name == "hand_norms",
            faster=lambda op, other: name == "integer_matmuls",
            padding=lambda op, other, written: 1.0 if name == "even_rows" else -1.0,
        )
    assert name in changed


@pytest.mark.parametrize("on", [True, False])
def test_attention_that_the_target_computes_whole_is_spelled_out_where_it_is_switched_off(on):
    graph = trace_from([ops.attention(Q, K, V)], [Q, K, V])
    with options(attention=on):
        found = optimize(graph, scheduled=lambda op: True)
    assert (kinds(found) == ["attention"]) is on


def test_all_are_there():
    assert list(GRAPHS) == list(dict.fromkeys(each.__name__ for each in PASSES))
