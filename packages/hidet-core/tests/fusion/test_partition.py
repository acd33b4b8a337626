"""Which operators share a kernel."""

import pytest

from hidet import ops
from hidet.fusion import partition
from hidet.graph import symbol, trace_from
from hidet.ops.conv import Conv
from hidet.ops.matmul import Linear, Matmul


def groups(outputs, inputs):
    graph = trace_from(outputs, inputs)
    found = partition(graph, lambda op: isinstance(op, Matmul | Linear | Conv))
    assert sorted(id(n) for g in found for n in g.nodes) == sorted(map(id, graph.nodes))
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


def test_a_number_in_an_epilogue_is_no_kernel_of_its_own():
    x, w = square(2)
    assert groups([ops.matmul(x, w) + 1.0], [x, w]) == ["matmul_full_add"]


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
