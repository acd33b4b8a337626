"""Which operators share a kernel."""

import numpy as np
import pytest

from hidet import ops
from hidet.fusion import partition
from hidet.graph import symbol, trace_from
from hidet.ops.products.attention import Attention
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.windows.conv import Conv
from hidet.optimize.merge.duplicate_creators import duplicate_creators
from hidet.options import options


def groups(outputs, inputs):
    graph = trace_from(outputs, inputs)
    found = partition(graph, lambda op: isinstance(op, Matmul | Linear | Conv | Attention))
    assert {n for g in found for n in g.nodes} == set(graph.nodes)
    made = set(graph.inputs)
    for group in found:  # in an order in which they can run
        assert set(group.inputs) <= made
        made |= set(group.results)
    return [group.name for group in found]


def square(count=1):
    return [symbol((8, 8)) for _ in range(count)]


def test_elementwise_operators_share_a_kernel():
    x, y = square(2)
    assert groups([ops.relu(ops.tanh(x) + y)], [x, y]) == ["tanh_add_relu"]


def test_both_operands_may_be_computed():
    x, y = square(2)
    assert groups([ops.tanh(x) + ops.relu(y)], [x, y]) == ["tanh_relu_add"] or groups(
        [ops.tanh(x) + ops.relu(y)], [x, y]
    ) == ["relu_tanh_add"]


def test_an_anchor_takes_what_is_before_and_after():
    x, w, b = square(3)
    result = ops.tanh(ops.matmul(ops.relu(x), w) + b)
    assert groups([result], [x, w, b]) == ["relu_matmul_add_tanh"]


def test_a_mask_that_is_looked_up_has_a_kernel_of_its_own():
    """As relative positions are in DeBERTa; a mask that is computed has none."""
    q, k, v = (symbol((1, 2, 5, 8)) for _ in range(3))
    table, at = symbol((2, 5, 9)), symbol((2, 5, 5), "int64")
    bias = ops.reshape(ops.gather(table, 2, at) / 4.0, (1, 2, 5, 5))
    found = groups([ops.attention(q, k, v, bias)], [q, k, v, table, at])
    assert found[-1] == "attention"
    assert "gather" in found[0]
    mask = symbol((1, 2, 5, 5))
    assert groups([ops.attention(q, k, v, mask / 4.0)], [q, k, v, mask]) == ["divide_attention"]


def test_a_number_in_an_epilogue_is_no_kernel_of_its_own():
    x, w = square(2)
    assert groups([ops.matmul(x, w) + 1.0], [x, w]) == ["matmul_add"]


def test_an_epilogue_computes_its_other_operand_where_that_is_not_more_work():
    x, w, y = square(3)
    assert groups([ops.matmul(x, w) + ops.tanh(y)], [x, w, y]) == ["matmul_tanh_add"]
    b = symbol((8,))
    assert groups([ops.matmul(x, w) + ops.tanh(b)], [x, w, b]) == ["tanh", "matmul_add"]
    assert groups([ops.matmul(x, w) + ops.relu(b)], [x, w, b]) == ["matmul_relu_add"]


def test_dear_functions_are_not_repeated_in_a_product():
    x, w = square(2)
    assert groups([ops.matmul(ops.tanh(x), w)], [x, w]) == ["tanh", "matmul"]


def test_what_two_operators_read_is_computed_once():
    x, w = square(2)
    y = ops.relu(x)
    assert groups([ops.matmul(y, w), ops.matmul(w, y)], [x, w]) == ["relu", "matmul", "matmul"]


def test_outputs_end_groups():
    x, w = square(2)
    y = ops.matmul(x, w)
    assert groups([y, ops.relu(y)], [x, w]) == ["matmul", "relu"]


def test_two_anchors_do_not_share_a_kernel():
    x, w = square(2)
    assert groups([ops.matmul(ops.matmul(x, w), w)], [x, w]) == ["matmul", "matmul"]


def test_a_residual_around_two_products_waits_for_nobody_in_a_circle():
    x, w = square(2)
    y = ops.relu(ops.matmul(x, w))
    z = ops.matmul(y, w) + y
    assert groups([z], [x, w]) == ["matmul_relu", "matmul_add"]


@pytest.mark.parametrize("count", [23, 24, 60])
def test_long_chains_are_cut(count):
    (x,) = square()
    y = x
    for _ in range(count):
        y = ops.tanh(y)
    assert len(groups([y], [x])) == -(-count // 24)


def test_a_reduction_takes_in_what_it_reads_and_what_follows():
    (x,) = square()
    assert groups([ops.relu(ops.sum(ops.tanh(x), 1))], [x]) == ["tanh_sum_relu"]


def gelu_by_tanh(x):
    """As GPT-2 spells it: four operators read x."""
    return x * 0.5 * (ops.tanh((x + x * x * x * 0.044715) * 0.797) + 1.0)


def test_ways_that_part_and_meet_again_stay_in_one_kernel():
    x, w = square(2)
    (name,) = groups([gelu_by_tanh(ops.matmul(x, w))], [x, w])
    assert name.startswith("matmul")


def test_a_norm_spelled_out_is_one_kernel():
    x, w = square(2)
    y = x * ops.rsqrt(ops.mean(x * x, -1, keepdims=True) + 1e-6)
    assert len(groups([ops.matmul(y, w)], [x, w])) == 2


def test_what_begins_a_norm_is_no_epilogue():
    x, w = square(2)
    y = ops.cast(ops.matmul(x, w), "float32") * 1.0
    z = y * ops.rsqrt(ops.mean(y * y, -1, keepdims=True))
    assert groups([z], [x, w]) == ["matmul", "multiply_multiply_mean_rsqrt_multiply"]


def test_a_norm_is_not_taken_apart_by_an_anchor_before_it():
    x, w = square(2)
    y = ops.relu(ops.matmul(x, w))
    z = y * ops.rsqrt(ops.mean(y * y, -1, keepdims=True))
    assert [name.split("_")[0] for name in groups([z], [x, w])] == ["matmul", "relu"]


def test_moving_elements_is_repeated_by_each_reader():
    x, w = square(2)
    y = ops.permute(ops.tanh(x), (1, 0))
    found = groups([ops.matmul(y, w), ops.matmul(w, y)], [x, w])
    assert found == ["tanh_permute", "matmul", "matmul"]
    y = ops.permute(x, (1, 0))
    found = groups([ops.matmul(y, w), ops.matmul(w, y)], [x, w])
    assert found == ["permute_matmul", "permute_matmul"]


def test_a_rotary_embedding_is_part_of_the_product_of_scores():
    x, k, cos, sin = (symbol((4, 8, 16)) for _ in range(4))
    q = ops.permute(x, (1, 0, 2))
    low, high = ops.slice(q, -1, 0, 8), ops.slice(q, -1, 8, 16)
    cos_, sin_ = ops.permute(cos, (1, 0, 2)), ops.permute(sin, (1, 0, 2))
    turned = q * cos_ + ops.concat([-high, low], -1) * sin_
    other = ops.permute(k, (1, 0, 2))
    (name,) = groups([ops.matmul(turned, other, transpose_b=True)], [x, k, cos, sin])
    assert name.startswith("permute")


def test_cheap_arithmetic_is_repeated_rather_than_stored():
    x, y, z = square(3)
    total = x + y
    outputs = [ops.tanh(total) @ z, ops.sum(total * z, 0)]
    assert groups(outputs, [x, y, z]) == ["add_tanh", "matmul", "add_multiply_sum"]


def test_dear_functions_are_stored_for_several_readers():
    x, z = square(2)
    made = ops.exp(x)
    found = groups([ops.matmul(ops.relu(made), z), ops.sum(made * z, 0)], [x, z])
    assert found[0] == "exp"


def test_notes_say_why_operators_are_apart():
    x, w = square(2)
    y = ops.matmul(x, w)
    graph = trace_from([ops.softmax(y), ops.relu(y)], [x, w])
    (first, *_) = partition(graph, lambda op: isinstance(op, Matmul))
    assert any("2 readers (softmax, relu) are apart" in note.text for note in first.notes)
    assert any("softmax reads it from memory" in note.text for note in first.notes)


def test_a_sum_that_a_norm_and_others_read_is_stored_by_the_norm():
    x, y, w = square(3)
    total = x + y
    normed = ops.layer_norm(total)
    found = groups([ops.matmul(normed, w) + total], [x, y, w])
    assert found == ["add_layer_norm", "matmul_add"]
    assert groups([normed, total], [x, y]) == ["add_layer_norm"]


def test_a_norm_that_waits_for_a_reader_of_the_sum_leaves_it_alone():
    x, y, w = square(3)
    total = ops.exp(x + y)
    product = ops.matmul(total, w)
    scale = ops.sum(product, 0)
    normed = ops.layer_norm(total, scale)
    assert groups([normed], [x, y, w]) == ["add_exp", "matmul", "sum", "layer_norm"]


def test_a_result_of_another_shape_is_a_kernel_of_its_own():
    x, y = square(2)
    total = ops.exp(x + y)
    assert groups([ops.sum(total, 1), total], [x, y]) == ["add_exp", "sum"]


def test_without_fusion_each_operator_is_a_kernel():
    x, w = square(2)
    with options(fusion=False):
        found = groups([ops.relu(ops.matmul(x, w) + 1.0)], [x, w])
    assert found == ["matmul", "full", "add", "relu"]


def through_bytes(x):
    """x quantized and dequantized, with numbers as an importer writes them."""
    how = ops.full((), 0.3, "float32"), ops.full((), 5, "uint8")
    return ops.dequantize(ops.quantize(x, *how), *how)


def test_bytes_are_stored_and_made_wider_where_they_are_read():
    a, b, w = square(3)
    left, right = through_bytes(ops.matmul(a, w)), through_bytes(ops.matmul(b, w))
    graph = trace_from([left + right], [a, b, w])
    first, second = partition(duplicate_creators(graph), lambda op: isinstance(op, Matmul))
    assert [each.dtype.name for each in first.results] == ["uint8"]
    assert [node.op.name for node in first.nodes if node.inputs] == ["matmul", "quantize"]
    names = [node.op.name for node in second.nodes if node.inputs]
    assert names.count("dequantize") == 2


def test_a_reduction_reads_bytes():
    a, w = square(2)
    graph = trace_from([ops.sum(through_bytes(ops.matmul(a, w)), 1)], [a, w])
    first, second = partition(duplicate_creators(graph), lambda op: isinstance(op, Matmul))
    assert [each.dtype.name for each in first.results] == ["uint8"]
    assert [node.op.name for node in second.nodes if node.inputs] == ["dequantize", "sum"]


def test_what_products_read_is_made_wider_once():
    a, w = square(2)
    real = through_bytes(ops.matmul(a, w))
    for result in (ops.matmul(real, w), ops.matmul(real, real)):
        graph = trace_from([result], [a, w])
        first, *_ = partition(duplicate_creators(graph), lambda op: isinstance(op, Matmul))
        assert [each.dtype.name for each in first.results] == ["float32"]


@pytest.mark.parametrize("target", ["cpu", "sim"])
@pytest.mark.parametrize("size", [1, 7, 129])
def test_values_that_repeat_along_a_chain_are_one_kernel(target, size):
    """Written out, the first value would be there 3 to the 9th times."""
    x = symbol((size,))
    y = x
    for _ in range(9):
        y = y * y * y - y * 0.5
    graph = trace_from([y], [x])
    given = np.linspace(-1, 1, size).astype(np.float32)
    wanted = given.astype(np.float64)
    for _ in range(9):
        wanted = wanted**3 - wanted * 0.5
    with options(target=target):
        compiled = graph.build()
        np.testing.assert_allclose(compiled(given).numpy(), wanted, rtol=1e-5, atol=1e-7)
    steps = compiled.archive.main.steps
    assert len(steps) == 2  # 24 operators are the most of one kernel
