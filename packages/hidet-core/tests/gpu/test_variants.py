"""One archive for all sizes, of which each call runs the kernels of its range."""

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.build.compile import compile_graph
from hidet.graph import evaluate
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.executor import Executor
from hidet.runtime.plans.plan import Launch
from hidet.target import Target
from hidet.testing.compare import assert_close
from hidet.types import f16

pytestmark = pytest.mark.gpu
DEVICE = "cuda:0"
HIDDEN, INNER = 256, 1024


def normal(*shape, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) / 8).astype(np.float16)


def layers():
    """Two layers with a norm between that is computed by both."""
    x = hidet.symbol(("b", "s", HIDDEN), "float16")
    first, second = (hidet.asarray(normal(*s)) for s in ((INNER, HIDDEN), (HIDDEN, INNER)))
    gain, shift = (hidet.asarray(normal(HIDDEN, seed=seed)) for seed in (1, 2))
    h = ops.linear(ops.gelu(ops.linear(x, first)), second) + x
    return hidet.trace_from([ops.linear(ops.layer_norm(h, gain, shift), first)], [x])


def test_calls_around_borders_are_right():
    graph = layers()
    compiled = compile_graph(graph, Target.parse("sm_90a"))
    plan = compiled.archive.plans["main"]
    relations = [each for step in plan.steps if isinstance(step, Launch) for each in step.when]
    borders = sorted({each.right for each in relations if isinstance(each.right, int)})
    assert borders, "no kernel is one of a few ranges"
    weights = {name: to_device(t.numpy(), DEVICE) for name, t in compiled.weights.items()}
    executor = Executor(compiled.archive, DEVICE, weights=weights)
    for rows in (1, 2, 7, 129, *(size for each in borders for size in (each, each + 1))):
        x = normal(1, rows, HIDDEN, seed=3)
        (wanted,) = evaluate(graph, x)
        for _ in range(2):  # the graph of the size is used again
            (found,) = executor([to_device(x, DEVICE)])
            assert_close(array_of(found), wanted, f16, 64.0)
