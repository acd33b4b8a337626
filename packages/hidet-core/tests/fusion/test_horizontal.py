"""Kernels of elements that read one tensor are one kernel with several results."""

import numpy as np
import pytest

from hidet import asarray, ops
from hidet.build.choosing.schedule import implement
from hidet.errors import InternalError
from hidet.fusion.group import require_made
from hidet.fusion.horizontal import MOST_RESULTS
from hidet.graph import evaluate, symbol, trace_from
from hidet.target import Target
from hidet.testing.compare import assert_close
from hidet.testing.fused import groups_of, simulated
from hidet.testing.fuzz import cases, random_case
from hidet.testing.fuzz.blocks import windowed
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


def filtered(x, w):
    """A depthwise convolution of channels that are last."""
    images = ops.conv(ops.permute(x, (0, 3, 1, 2)), w, groups=x.shape[3])
    return ops.permute(images, (0, 2, 3, 1))


def test_what_is_handed_over_to_several_convolutions_is_written_for_each():
    """Statistics of two images under a window: each convolution reads a function of both, and one
    kernel makes all of these."""
    x, w = symbol((1, 57, 43, 3)), asarray(np.full((3, 1, 11, 11), 1 / 121, np.float32))
    one = ops.flip(x, 1)
    other = one * 0.9
    means = filtered(one, w), filtered(other, w)
    products = filtered(one * other, w) + means[0] * means[1]
    squares = filtered(one * one + other * other, w)
    graph = trace_from([products + squares + means[0] * means[0] + means[1] * means[1]], [x])
    groups = groups_of(graph, CPU)
    assert max(len(each.results) for each in groups) == 4
    require_made(groups, [])
    for group in groups[:-1]:
        with pytest.raises(InternalError, match="no kernel before it writes"):
            require_made([each for each in groups if each is not group] + [group], group.results)
    arrays = arrays_for(graph)
    (wanted,) = evaluate(graph, *arrays)
    assert_close(graph.build()(*arrays).numpy(), wanted, graph.outputs[0].dtype, 64.0)


def test_what_an_anchor_was_promised_is_one_of_the_results(monkeypatch):
    """Graph 38 of windowed statistics: the operand that one convolution reads is made beside the
    result of another one, whose kernel has to write it."""
    monkeypatch.setattr(cases, "MAKERS", ((1, windowed),))
    graph = random_case(38).graph
    assert groups_of(graph, Target.parse("cpu+avx512"))
