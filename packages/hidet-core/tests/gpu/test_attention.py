"""Attention on the GPU at random points of its space, against float64."""

import random

import numpy as np
import pytest

from hidet.build import schedule as chosen
from hidet.build.compile import compile_graph
from hidet.graph import refer
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node, Tensor
from hidet.ops.attention import Attention
from hidet.runtime.executor import Executor
from hidet.runtime.memory import array_of, to_device
from hidet.schedules.base import candidates
from hidet.types import bf16, boolean, f16, f32

pytestmark = pytest.mark.gpu
DEVICE = "cuda:0"
ERROR = {f16: 1e-3, bf16: 8e-3, f32: 2e-6}
OPS = [
    Attention(f16[1, 12, 128, 64], f16[1, 12, 128, 64], f16[1, 12, 128, 64], None, False, 0.125),
    Attention(bf16[1, 8, 500, 128], bf16[1, 2, 500, 128], bf16[1, 2, 500, 128], None, True, 0.1),
    Attention(f16[1, 32, 1, 128], f16[1, 8, 3000, 128], f16[1, 8, 3000, 128], None, False, 0.1),
    Attention(f16[2, 70, 40], f16[2, 1001, 40], f16[2, 1001, 24], boolean[70, 1001], False, 0.2),
    Attention(bf16[3, 4, 9, 33], bf16[3, 2, 67, 33], bf16[3, 2, 67, 33], bf16[4, 1, 67], True, 0.2),
    Attention(f32[1, 12, 128, 64], f32[1, 12, 128, 64], f32[1, 12, 128, 64], None, False, 0.125),
    Attention(f32[1, 8, 500, 128], f32[1, 2, 500, 128], f32[1, 2, 500, 128], None, True, 0.1),
    Attention(f32[1, 32, 1, 128], f32[1, 8, 3000, 128], f32[1, 8, 3000, 128], None, False, 0.1),
    Attention(f32[70, 7, 40], f32[70, 1001, 40], f32[70, 1001, 24], boolean[7, 1001], False, 0.2),
]


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("op", OPS, ids=str)
def test_any_point(op, number, monkeypatch):
    def choices(op, target):
        return (random.Random(number).choice(candidates(op, target)),)

    monkeypatch.setattr(chosen, "choices", choices)
    inputs = [Tensor(each, DEVICE) for each in op.types()]
    node = Node(op, tuple(inputs), device=DEVICE)
    graph = FlowGraph(inputs, list(node.outputs), op.name)
    executor = Executor(compile_graph(graph).archive, DEVICE)
    arrays = op.examples(seed=number)
    (found,) = executor([to_device(np.asarray(each), DEVICE) for each in arrays])
    (expected,) = refer(op, arrays)
    error = np.linalg.norm(array_of(found).astype(np.float64) - expected)
    assert error <= ERROR[op.q.dtype] * np.linalg.norm(expected)
