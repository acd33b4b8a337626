"""What comes before and after a product or convolution moves into its kernels, on both targets."""

import numpy as np
import pytest

from hidet import ops, sim
from hidet.build.choosing.choices import has_schedule
from hidet.build.choosing.schedule import implement
from hidet.fusion import partition
from hidet.graph import FlowGraph, Tensor, evaluate
from hidet.schedules.base import SCHEDULES
from hidet.target import Target
from hidet.testing.fused import as_run
from hidet.types import f16, f32


def linear(x, w, b, y):
    return ops.relu(ops.linear(x * 2.0, w, b)) + y


def product(x, w, b, y):
    return ops.transpose(ops.matmul(x, w + 1.0) * b, 0, 1) + y


def convolution(x, w, b, y):
    return ops.relu(ops.conv2d(ops.relu(x), w, b, padding=1) + y)


CASES = [
    (linear, lambda of: (of[33, 40], of[24, 40], of[24], of[33, 24])),
    (linear, lambda of: (of[1, 264], of[24, 264], of[24], of[1, 24])),
    (product, lambda of: (of[33, 40], of[40, 24], of[24], of[24, 33])),
    (convolution, lambda of: (of[1, 8, 7, 9], of[16, 8, 3, 3], of[16], of[1, 16, 7, 9])),
]


def fused(function, types, target):
    inputs = [Tensor(each, target.kind) for each in types]
    graph = FlowGraph(inputs, [function(*inputs)])
    groups = partition(graph, lambda op: has_schedule(op, target))
    (group,) = [each for each in groups if each.anchor is not None]
    (made,) = implement(group, target)
    return graph, group, made


@pytest.mark.parametrize("of", [f16, f32], ids=str)
@pytest.mark.parametrize(("function", "shapes"), CASES)
def test_cuda(function, shapes, of, near):
    target = Target.parse("sm_90a")
    graph, group, made = fused(function, shapes(of), target)
    assert made.schedule in {schedule.name for schedule in SCHEDULES}
    compare(graph, group, near, lambda *arrays: sim.launch(as_run(made.module), *arrays))


@pytest.mark.parametrize(("function", "shapes"), CASES)
def test_cpu(function, shapes, near, compile_modules):
    graph, group, made = fused(function, shapes(f32), Target.parse("cpu+avx512"))
    library = compile_modules([made.module])
    compare(graph, group, near, lambda *arrays: library(0, *arrays))


def compare(graph, group, near, run):
    random = np.random.default_rng(0)
    values = {
        each: random.uniform(-1, 1, each.shape).astype(each.dtype.numpy) for each in graph.inputs
    }
    wide = evaluate(graph, *(values[each].astype(np.float64) for each in graph.inputs))
    assert set(group.inputs) == set(graph.inputs)
    assert group.results == graph.outputs
    (result,) = graph.outputs
    out = np.full(result.shape, 77, result.dtype.numpy)
    run(*(values[each] for each in group.inputs), out)
    near(out, wide[0])


@pytest.fixture
def near():
    def close(found, expected):
        step = 2.0**-10 if found.dtype.itemsize == 2 else 2.0**-22
        error = np.abs(found.astype(np.float64) - expected)
        assert (error <= 16 * step * np.maximum(1, np.abs(expected))).all(), error.max()

    return close
