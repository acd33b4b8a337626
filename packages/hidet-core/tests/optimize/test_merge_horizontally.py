"""Products of one operand become one."""

import numpy as np
import pytest

from hidet import ops
from hidet.graph import evaluate, symbol, trace_from
from hidet.optimize.merge.horizontal import merge_horizontally
from hidet.testing.compare import assert_close
from hidet.testing.fused import groups_of, simulated
from hidet.testing.graph_passes import kinds, lines, same_value, weight
from hidet.testing.graphs import arrays_for


def test_linear_layers_of_one_input():
    x = symbol((3, 8))
    parts = [ops.linear(x, weight(n, 8), weight(n)) for n in (4, 6, 2)]
    before = trace_from([ops.reshape(each, (-1, 1)) for each in parts], [x])
    after = merge_horizontally(before)
    assert kinds(before).count("linear") == 3
    assert kinds(after).count("linear") == 1
    assert kinds(after).count("slice") == 3
    same_value(before, after)


def test_the_text_before_and_after():
    x = symbol((3, 8))
    p, q = (ops.relu(ops.linear(x, weight(4, 8))) for _ in range(2))
    before = trace_from([ops.softmax(p), ops.softmax(q)], [x])
    after = merge_horizontally(before)
    assert lines(after)[2:] == [
        "x_1 = Concat(c, c_1)",
        "x_2 = Linear(x, x_1)",
        "x_3 = Relu(x_2)",
        "x_4 = Slice(x_3)",
        "x_5 = Softmax(x_4)",
        "x_6 = Slice(x_3)",
        "x_7 = Softmax(x_6)",
        "return x_5, x_7",
    ]
    same_value(before, after)


@pytest.mark.parametrize("transpose", [False, True])
def test_matrix_products(transpose):
    x = symbol((2, 3, 8))
    shapes = [(5, 8), (3, 8)] if transpose else [(8, 5), (8, 3)]
    parts = [ops.matmul(x, weight(*shape), transpose_b=transpose) for shape in shapes]
    before = trace_from([ops.permute(each, (0, 2, 1)) for each in parts], [x])
    after = merge_horizontally(before)
    assert kinds(after).count("matmul") == 1
    same_value(before, after)


def test_convolutions_of_equal_geometry_with_what_follows_all_of_them():
    x = symbol((1, 4, 6, 6))
    made = [ops.relu(ops.conv2d(x, weight(n, 4, 1, 1), weight(n))) for n in (3, 5)]
    wide = ops.relu(ops.conv2d(x, weight(3, 4, 3, 3), weight(3), padding=1))
    before = trace_from([ops.concat([*made, wide], 1)], [x])
    after = merge_horizontally(before)
    assert kinds(after).count("conv") == 2
    assert kinds(after).count("relu") == 2
    same_value(before, after)


def test_a_missing_bias_is_zero():
    x = symbol((3, 8))
    parts = [ops.linear(x, weight(4, 8), weight(4)), ops.linear(x, weight(4, 8))]
    before = trace_from([ops.permute(each, (1, 0)) for each in parts], [x])
    after = merge_horizontally(before)
    assert kinds(after).count("linear") == 1
    same_value(before, after)


def apart(outputs, inputs):
    graph = trace_from(outputs, inputs)
    assert merge_horizontally(graph) is graph


def test_what_stays_apart():
    x, w = symbol((3, 8)), symbol((4, 8))
    p, q = ops.linear(x, weight(4, 8)), ops.linear(x, weight(4, 8))
    apart([p, q], [x])  # outputs
    apart([ops.permute(ops.linear(x, w), (1, 0)), ops.permute(p, (1, 0))], [x, w])  # no constant
    apart([ops.silu(p) * q], [x])  # epilogues of their own
    apart([ops.permute(ops.relu(p), (1, 0)), ops.permute(ops.tanh(q), (1, 0))], [x])
    y = symbol((3, 8))
    apart([ops.permute(p, (1, 0)), ops.permute(ops.linear(y, weight(4, 8)), (1, 0))], [x, y])


def test_slices_of_the_merged_product_are_read_by_the_kernels_that_follow():
    """Odd sizes, through the kernels in the simulator."""
    x = symbol((9, 24), "float16")
    q, k = (ops.linear(x, half(weight(2 * 7, 24)), half(weight(14))) for _ in range(2))
    heads = [ops.permute(ops.reshape(each, (9, 2, 7)), (1, 0, 2)) for each in (q, k)]
    before = trace_from([ops.matmul(*heads, transpose_b=True)], [x])
    assert [group.anchor.op.name for group in groups_of(before)] == ["linear", "matmul"]
    arrays = [each.astype(np.float16) for each in arrays_for(before)]
    (found,) = simulated(before, arrays)
    assert_close(found, evaluate(before, *arrays)[0], before.outputs[0].dtype, 64.0)


def half(x):
    """A constant in half precision."""
    return ops.cast(x, "float16")
