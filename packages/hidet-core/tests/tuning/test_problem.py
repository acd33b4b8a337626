"""Problems: inputs that operators like, and the same results everywhere as at samples."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.measured.attempt import alone
from hidet.fusion.group import Group
from hidet.graph import symbol, trace_from
from hidet.graph.dims import size_symbol
from hidet.ops.reductions.partial_statistics import linear_moments
from hidet.tuning.problem import BLOCK, SAMPLED, TYPICAL, problem_of, sampled
from hidet.tuning.verdict import difference
from hidet.types import f16, i64


def group_around(name, result, inputs):
    graph = trace_from(result, inputs)
    return Group(graph.nodes, next(each for each in graph.nodes if each.op.name == name))


def fused_matmul(dtype="float32"):
    x, w, b = symbol([20, 300], dtype), symbol([300, 30], dtype), symbol([30], dtype)
    return group_around("matmul", ops.relu(x @ w + b), [x, w, b])


def conv():
    x, w = symbol([2, 6, 9, 10]), symbol([8, 3, 3, 3])
    result = ops.tanh(ops.conv2d(x, w, padding=1, stride=2, groups=2))
    return group_around("conv", result, [x, w])


def attention():
    q, k, v = (symbol([1, 2, 12, 16]) for _ in range(3))
    return group_around("attention", ops.attention(q, k, v), [q, k, v])


@pytest.mark.parametrize("make", [fused_matmul, conv, attention])
def test_samples_agree_with_the_whole(make):
    group = make()
    whole = problem_of(group, alone(group), 1.0)
    part = problem_of(group, alone(group), 1e12)
    assert whole.expected[0].positions is None
    positions = part.expected[0].positions
    assert len(positions) == SAMPLED
    assert {0, whole.expected[0].values.size - 1} <= set(positions)
    for mine, other in zip(whole.inputs, part.inputs, strict=True):
        np.testing.assert_array_equal(mine, other)
    assert difference(whole.expected[0].values, part.expected[0], whole.factor) == ""
    shifted = np.roll(whole.expected[0].values, 1)
    assert difference(shifted, part.expected[0], whole.factor)


def test_inputs_differ_and_large_ones_repeat_out_of_step():
    x, w = symbol([64, 20000]), symbol([20000, 8])
    group = group_around("matmul", x @ w, [x, w])
    first, second = problem_of(group, alone(group), 1e12).inputs
    assert not np.array_equal(first.reshape(-1)[:100], second.reshape(-1)[:100])
    flat = first.reshape(-1)
    assert flat.size > BLOCK
    assert len({row.tobytes() for row in first}) == 64


def test_whole_numbers_are_what_the_operator_takes():
    table, index, w = symbol([10, 16]), symbol([5], dtype=i64), symbol([16, 4])
    group = group_around("matmul", table[index] @ w, [table, index, w])
    inputs = problem_of(group, alone(group), 1.0).inputs
    (at,) = (each for each in inputs if each.dtype == np.int64)
    assert at.min() >= -10
    assert at.max() < 10


def test_symbols_get_a_number_and_so_do_those_of_no_input():
    n = size_symbol("n")
    x, w = symbol([n * 2, 16], dtype=f16), symbol([16, 8], dtype=f16)
    group = group_around("matmul", x @ w, [x, w])
    graph = alone(group)
    assert len(graph.inputs) == 3
    problem = problem_of(group, graph, 1.0)
    assert problem.inputs[0].shape == (2 * TYPICAL, 16)
    assert problem.inputs[2].shape == (TYPICAL,)
    assert sampled(group, problem.inputs)[0].values.shape == (SAMPLED,)


def test_statistics_of_rounded_rows_may_be_off_by_their_rounding():
    x, w, near = (
        symbol([24, 768], "float16"),
        symbol([768, 768], "float16"),
        symbol([24, 768], "float16"),
    )
    y, statistics = linear_moments(x, w, near)
    graph = trace_from([y, statistics], [x, w, near])
    group = Group(graph.nodes, graph.nodes[0])
    problem = problem_of(group, alone(group), 1.0)
    rows, wanted = problem.expected
    rounded = rows.values.astype(np.float16).astype(np.float64).reshape(24, 12, 64)
    found = np.stack([rounded.mean(-1), rounded.var(-1) * 64], -1).astype(np.float32)
    assert np.abs(found - wanted.values).max() > 1e-4 * np.abs(wanted.values).max()
    assert difference(found, wanted, problem.factor) == ""
    assert difference(np.roll(found, 1), wanted, problem.factor)
