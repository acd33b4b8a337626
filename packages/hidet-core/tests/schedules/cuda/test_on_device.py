"""Products and convolutions of typical sizes on the GPU, at untuned and at random points."""

import random

import numpy as np
import pytest

from hidet.build import draft
from hidet.build.choosing import choices as chosen
from hidet.build.compile import compile_graph
from hidet.build.planning.kernels import Recipes
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node, Tensor
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.windows.conv import Conv
from hidet.options import options
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.executor import Executor
from hidet.schedules.base import candidates
from hidet.types import bf16, f16, f32

pytestmark = pytest.mark.gpu
DEVICE = "cuda:0"
ONE, SAME, NONE = (1, 1), ((1, 1), (1, 1)), ((0, 0), (0, 0))
OPS = [
    Linear(f16[128, 768], f16[768, 768], f16[768]),
    Linear(bf16[127, 769], bf16[333, 769], bf16[333]),
    Linear(f16[1, 768], f16[2304, 768], f16[2304]),
    Matmul(f16[12, 128, 64], f16[12, 128, 64], False, True),
    Matmul(f16[1000, 500], f16[500, 700]),
    Matmul(f32[300, 513], f32[513, 129]),
    Conv(f16[1, 64, 28, 28], f16[64, 64, 3, 3], f16[64], ONE, SAME, ONE, 1),
    Conv(f16[2, 64, 14, 14], f16[256, 64, 1, 1], None, (2, 2), NONE, ONE, 1),
    Conv(f32[1, 3, 64, 64], f32[16, 3, 7, 7], f32[16], (2, 2), ((3, 3), (3, 3)), ONE, 1),
    Conv(f16[1, 96, 28, 28], f16[96, 1, 3, 3], f16[96], ONE, SAME, ONE, 96),
]


def run(op, arrays):
    inputs = [Tensor(each, DEVICE) for each in op.types()]
    node = Node(op, tuple(inputs), device=DEVICE)
    graph = FlowGraph(inputs, list(node.outputs), op.name)
    executor = Executor(compile_graph(graph).archive, DEVICE)
    (found,) = executor([to_device(np.asarray(each), DEVICE) for each in arrays])
    return array_of(found)


@pytest.mark.parametrize("op", OPS, ids=str)
def test_untuned(op, check):
    arrays = op.examples(seed=0)
    check(op, arrays, run(op, arrays))


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("op", OPS, ids=str)
def test_any_point(op, number, check, monkeypatch):
    def choices(op, target, *calls):
        return (random.Random(number).choice(candidates(op, target)),)

    monkeypatch.setattr(chosen, "choices", choices)
    monkeypatch.setattr(draft, "RECIPES", Recipes())  # others know the operator at another point
    arrays = op.examples(seed=number)
    with options(cache=False):
        check(op, arrays, run(op, arrays))
