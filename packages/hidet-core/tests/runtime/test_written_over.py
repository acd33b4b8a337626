"""Outputs are written where inputs lie if nothing reads these any more."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.compile import compile_graph
from hidet.frontend.running.execute import prepare_runner
from hidet.graph import symbol, trace_from
from hidet.options import options
from hidet.runtime.binding.memory import array_of, view_of
from hidet.runtime.binding.written_over import written_over
from hidet.types import f32, i64

TARGETS = ["cpu", "sim"]


def counted(target, graph, over, *arrays):
    """What a graph gives, and which outputs it wrote over inputs."""
    with options(target=target, in_place=True):
        run = prepare_runner(graph, view_of, over=over)
        return run.over, [array_of(each).copy() for each in run(list(map(view_of, arrays)))]


@pytest.mark.parametrize("target", TARGETS)
def test_a_length_grows_where_it_lies(target):
    length, x = symbol((), i64), symbol((7,), f32)
    graph = trace_from([x * ops.cast(length, f32), length + 1], [length, x])
    at, values = np.array(5), np.arange(7, dtype=np.float32)
    over, found = counted(target, graph, {1: 0}, at, values)
    assert over == {1}
    assert at == 6
    np.testing.assert_array_equal(found, [values * 5])


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_read_later_stays(target):
    x, w = symbol((5, 5), f32), symbol((5, 5), f32)
    y = ops.relu(x)
    graph = trace_from([y, ops.matmul(ops.matmul(y, w), x)], [x, w])
    given = np.random.default_rng(0).standard_normal((5, 5)).astype(np.float32)
    before = given.copy()
    over, found = counted(target, graph, {0: 0}, given, np.eye(5, dtype=np.float32))
    assert over == set()
    np.testing.assert_array_equal(given, before)
    np.testing.assert_array_equal(found[0], np.maximum(before, 0))


@pytest.mark.parametrize("target", TARGETS)
def test_what_other_threads_read_stays(target):
    x = symbol((129,), f32)
    graph = trace_from([ops.flip(x, 0) + x], [x])
    given = np.arange(129, dtype=np.float32)
    over, found = counted(target, graph, {0: 0}, given)
    assert over == set()
    np.testing.assert_array_equal(found[0], np.full(129, 128.0))


def test_another_type_or_shape_stays():
    x = symbol((6,), f32)
    outputs = [ops.cast(x, "float16"), ops.reshape(x * 2.0, (2, 3)), ops.concat([x, x], 0)]
    plan = compile_graph(trace_from(outputs, [x]), "cpu").archive.main
    for number in range(3):
        assert written_over(plan, {number: 0}) == (plan, frozenset())


@pytest.mark.parametrize("target", TARGETS)
def test_others_read_before_it_is_written(target):
    """The launch that writes over the input is the first in the graph, and goes to the end."""
    x, w = symbol((5, 5), f32), symbol((5, 5), f32)
    graph = trace_from([ops.relu(x), ops.matmul(x, w)], [x, w])
    given = np.random.default_rng(0).standard_normal((5, 5)).astype(np.float32)
    before = given.copy()
    over, found = counted(target, graph, {0: 0}, given, np.eye(5, dtype=np.float32))
    assert over == {0}
    np.testing.assert_array_equal(given, np.maximum(before, 0))
    np.testing.assert_allclose(found, [before], rtol=1e-6)
