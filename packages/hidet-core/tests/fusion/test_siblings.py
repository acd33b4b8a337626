"""Kernels of elements that read one tensor are one kernel with several results."""

import pytest

from hidet import ops
from hidet.build.schedule import implement
from hidet.fusion.siblings import MOST_RESULTS
from hidet.graph import evaluate, symbol, trace_from
from hidet.target import Target
from hidet.testing.compare import assert_close
from hidet.testing.fused import groups_of, simulated
from hidet.testing.graphs import arrays_for

GPU, CPU = Target.parse("sm_90a"), Target.parse("cpu")


def kernels(outputs, inputs, target=GPU):
    """The groups of a graph, each with how many results it has, whose values are right."""
    graph = trace_from(outputs, inputs)
    arrays = arrays_for(graph)
    wanted = evaluate(graph, *arrays)
    for found, exact, output in zip(
        simulated(graph, arrays, target), wanted, graph.outputs, strict=True
    ):
        assert_close(found, exact, output.dtype, 64.0)
    return [len(each.results) for each in groups_of(graph, target)]


@pytest.mark.parametrize("target", [GPU, CPU])
@pytest.mark.parametrize("shape", [(1,), (129,), (7, 37), (2, 3, 16)])
def test_functions_of_one_tensor(shape, target):
    x, y = symbol(shape), symbol(shape)
    assert kernels([ops.relu(x), ops.tanh(x), x * y], [x, y], target) == [3]


def test_results_of_several_types():
    x = symbol((5, 33))
    assert kernels([ops.cast(x, "float16"), ops.less(x, 0.5), x * 2.0], [x]) == [3]


@pytest.mark.parametrize("target", [GPU, CPU])
def test_a_value_and_what_is_made_of_it(target):
    x = symbol((7, 37))
    y = ops.exp(x)
    assert kernels([ops.sum(y, -1), y, y * 2.0], [x], target) == [2, 1]


def test_gates_that_are_parts_of_one_product():
    x, c = symbol((3, 32)), symbol((3, 8))
    i, f, g, o = ops.split(x, [8, 8, 8, 8], 1)
    new = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
    assert kernels([ops.sigmoid(o) * ops.tanh(new), new], [x, c]) == [2]


def test_what_waits_for_the_other_stays_apart():
    x = symbol((7, 37))
    y = ops.cumsum(ops.relu(x), 1)
    assert kernels([x * y], [x]) == [1, 1, 1]
    assert kernels([ops.tanh(x), x * y], [x]) == [2, 1, 1]  # the other two read x, too


@pytest.mark.parametrize("target", [GPU, CPU])
def test_what_was_merged_with_an_earlier_one_does_not_wait_for_itself(target):
    """z * most of z is written beside y, for which the most of y and then y * that wait."""
    z, p = symbol((7, 37)), symbol((7, 37))
    y = z + p
    most = ops.max(y), ops.max(z)
    outputs = [y * most[0], z * most[1], *most]
    assert sum(kernels(outputs, [z, p], target)) == 5


def test_what_shares_nothing_or_has_another_shape_stays_apart():
    x, y = symbol((7, 37)), symbol((7, 37))
    assert kernels([ops.relu(x), ops.tanh(y)], [x, y]) == [1, 1]
    assert kernels([ops.relu(x), ops.permute(ops.tanh(x), (1, 0))], [x]) == [1, 1]
    assert kernels([ops.relu(x), ops.softmax(x, -1)], [x]) == [1, 1]


def test_a_kernel_writes_to_few_tensors():
    x = symbol((7, 37))
    made = [x * float(factor) for factor in range(2, 4 + MOST_RESULTS)]
    assert kernels(made, [x]) == [MOST_RESULTS, len(made) - MOST_RESULTS]


def test_an_operand_that_is_turned_for_one_result_goes_through_shared_memory():
    x, y = symbol((40, 65)), symbol((65, 40))
    turned = ops.permute(x, (1, 0)) + y
    for outputs in ([turned, y * 2.0], [y * 2.0, turned]):
        graph = trace_from(outputs, [x, y])
        (group,) = groups_of(graph, GPU)
        ((made,),) = [implement(group, GPU)]
        assert "shared" in str(made.module)
        assert kernels(outputs, [x, y]) == [2]
