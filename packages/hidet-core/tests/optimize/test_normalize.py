"""Operators that undo each other leave the graph."""

import pytest

from hidet import ops
from hidet.graph import symbol, trace_from
from hidet.optimize.normalize import normalize
from hidet.testing.graph_passes import kinds, lines, same_value, weight

X = symbol((2, 3, 4))
H = symbol((2, 3, 4), "float16")
WHOLE = symbol((2, 3), "int32")


def after(made, *inputs):
    graph = trace_from([made], inputs)
    found = normalize(graph)
    if all(each.dtype.name == "float32" for each in inputs):
        same_value(graph, found)
    return kinds(found)


def test_the_text_before_and_after():
    x = symbol((2, 3))
    before = trace_from([ops.tanh(ops.permute(ops.permute(x, (1, 0)), (1, 0)) * 1.0)], [x])
    assert lines(before) == [
        "x_1 = Permute(x)",
        "x_2 = Permute(x_1)",
        "x_3 = Full(shape=())",
        "x_4 = Multiply(x_2, x_3)",
        "x_5 = Tanh(x_4)",
        "return x_5",
    ]
    assert lines(normalize(before)) == ["x_1 = Tanh(x)", "return x_1"]


def test_shapes():
    assert after(ops.reshape(ops.reshape(X, (6, 4)), (3, 8)), X) == ["reshape"]
    assert after(ops.tanh(ops.reshape(ops.reshape(X, (24,)), (2, 3, 4))), X) == ["tanh"]
    assert after(ops.permute(ops.permute(X, (1, 2, 0)), (0, 2, 1)), X) == ["permute"]
    assert after(ops.permute(ops.reshape(X, (6, 4)), (1, 0)), X) == ["reshape", "permute"]


def test_axes_of_size_one_are_added_after_a_permute():
    wide = ops.permute(ops.reshape(X, (2, 1, 3, 4)), (2, 1, 0, 3))
    assert after(ops.tanh(wide), X) == ["permute", "reshape", "tanh"]
    column = symbol((1, 3, 4))
    assert after(ops.tanh(ops.permute(column, (1, 0, 2))), column) == ["reshape", "tanh"]
    parted = ops.permute(ops.reshape(X, (2, 3, 2, 2)), (1, 0, 2, 3))
    assert after(ops.tanh(parted), X) == ["reshape", "permute", "tanh"]


def test_casts():
    assert after(ops.relu(ops.cast(ops.cast(H, "float32"), "float16")), H) == ["relu"]
    assert after(ops.cast(ops.cast(H, "float32"), "bfloat16"), H) == ["cast"]
    assert after(ops.cast(ops.cast(X, "float16"), "float32"), X) == ["cast", "cast"]
    assert after(ops.cast(ops.cast(WHOLE, "int64"), "float32"), WHOLE) == ["cast"]
    assert after(ops.cast(ops.cast(WHOLE, "int8"), "int32"), WHOLE) == ["cast", "cast"]
    signed = symbol((2, 3), "int8")  # -1 is no number of uint8, though 127 is
    assert after(ops.cast(ops.cast(signed, "uint8"), "int32"), signed) == ["cast", "cast"]
    assert after(ops.cast(ops.cast(signed, "int16"), "int32"), signed) == ["cast"]


@pytest.mark.parametrize("made", [X * 1.0, 1.0 * X, X / 1.0, X - 0.0])
def test_numbers_that_change_nothing(made):
    assert after(ops.tanh(made), X) == ["tanh"]


@pytest.mark.parametrize("made", [X + 0.0, X - -0.0, 0.0 - X, 1.0 / X, X * 2.0])
def test_numbers_that_change_something(made):
    assert len(after(ops.tanh(made), X)) == 3


def test_casts_by_way_of_types_that_lack_some_values_stay():
    for source, between, to, left in (
        ("float8_e4m3", "float16", "float32", ["cast"]),
        ("float8_e8m0", "float16", "float32", ["cast", "cast"]),  # beyond its range
        ("float8_e8m0", "bfloat16", "float32", ["cast"]),
        ("float4_e2m1", "float8_e5m2", "float32", ["cast"]),
        ("float4_e2m1", "float8_e4m3fnuz", "float32", ["cast", "cast"]),  # no minus zero
        ("int4", "float4_e2m1", "float32", ["cast", "cast"]),
        ("int4", "int8", "float32", ["cast"]),
        ("float32", "float8_e5m2fnuz", "float32", ["cast", "cast"]),
    ):
        x = symbol([4], source)
        assert after(ops.cast(ops.cast(x, between), to), x) == left, (source, between)


def test_integers_plus_zero():
    assert after(ops.absolute(WHOLE + 0), WHOLE) == ["absolute"]


def test_a_number_that_widens_stays():
    one = ops.full((5, 2, 3, 4), 1.0)
    graph = trace_from([ops.tanh(X * ops.relu(X)), ops.multiply(X, one)], [X])
    assert normalize(graph).outputs[1].shape == (5, 2, 3, 4)


def test_products_of_transposes():
    y = symbol((2, 5, 4))
    turned = ops.permute(y, (0, 2, 1))
    graph = trace_from([ops.matmul(X, turned)], [X, y])
    found = normalize(graph)
    assert kinds(found) == ["matmul"]
    assert found.nodes[0].op.transpose_b
    same_value(graph, found)
    both = trace_from([ops.matmul(ops.permute(X, (0, 2, 1)), turned, transpose_a=True)], [X, y])
    assert kinds(normalize(both)) == ["matmul"]
    same_value(both, normalize(both))
    kept = trace_from([ops.matmul(X, ops.permute(symbol((4, 2, 3)), (1, 0, 2)))])
    assert normalize(kept) is kept


def test_products_of_groups_by_transposed_matrices():
    x, w, ends = symbol([9, 6]), symbol([4, 5, 6]), symbol([4], "int32")
    graph = trace_from([ops.grouped_matmul(x, ops.transpose(w, 1, 2), ends)], [x, w, ends])
    found = normalize(graph)
    assert kinds(found) == ["grouped_matmul"]
    assert found.nodes[0].op.transpose_w


def test_copies_stay():
    copied = ops.copy(X)
    assert after(copied, X) == ["reshape"]
    assert after(ops.reshape(copied, (6, 4)), X) == ["reshape", "reshape"]
    updated = ops.in_place(ops.slice_scatter(X, symbol((2, 1, 4)), 1, 0, 1))
    graph = trace_from([ops.copy(updated), updated * 1.0])
    assert kinds(normalize(graph))[-3:] == ["reshape", "full", "multiply"]


def test_what_is_expanded_for_a_function_that_broadcasts():
    x, y = symbol((3, 8)), symbol((3, 1))
    wide = ops.expand(y, (3, 8))
    before = trace_from([x / wide], [x, y])
    after = normalize(before)
    assert kinds(after) == ["divide"]
    same_value(before, after)
    both = trace_from([wide * wide], [y])
    assert normalize(both) is both


def test_what_is_padded_is_permuted_before():
    wide = ops.pad(X, [(1, 0), (0, 2), (3, 1)], value=2.0)
    assert after(ops.permute(wide, (2, 0, 1)), X) == ["permute", "pad"]


@pytest.mark.parametrize("channels_last", [False, True])
def test_zeros_around_an_image_are_the_convolutions_padding(channels_last):
    x = symbol((1, 5, 6, 3) if channels_last else (1, 3, 5, 6))
    taps = weight(4, 3, 2, 3) if channels_last else weight(4, 3, 3, 2)
    around = [(0, 0), (1, 0), (2, 1)]
    widths = [*around, (0, 0)] if channels_last else [(0, 0), *around]

    def convolved(widths, **how):
        wide = ops.pad(x, widths, **how)
        return ops.conv(wide, taps, padding=((0, 1), (1, 0)), channels_last=channels_last)

    assert after(convolved(widths), x) == ["conv"]
    assert after(convolved(widths, value=1.0), x) == ["pad", "conv"]
    assert after(convolved([(1, 0), *widths[1:]]), x) == ["pad", "conv"]
    assert after(convolved([(0, 0), (0, 0), (-1, 0), (0, 0)]), x) == ["pad", "conv"]
