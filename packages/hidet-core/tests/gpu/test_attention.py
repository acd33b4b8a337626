"""Attention on the GPU at random points of its space, against float64."""

import random

import numpy as np
import pytest

from hidet.build.choosing import choices as chosen
from hidet.build.compile import compile_graph
from hidet.graph import refer
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node, Tensor
from hidet.ops.products.attention import Attention
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.executor import Executor
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


LONG = [
    Attention(f16[2, 8, 1024, 64], f16[2, 8, 1024, 64], f16[2, 8, 1024, 64], None, False, 0.125),
    Attention(bf16[1, 8, 777, 128], bf16[1, 2, 777, 128], bf16[1, 2, 777, 128], None, True, 0.1),
    Attention(f16[3, 300, 40], f16[3, 1001, 40], f16[3, 1001, 24], boolean[300, 1001], False, 0.2),
    Attention(f16[8, 200, 256], f16[8, 203, 256], f16[8, 203, 256], f16[8, 1, 203], False, 0.1),
]


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("op", OPS, ids=str)
def test_any_point(op, number, monkeypatch):
    right_at(op, number, candidates, monkeypatch)


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("op", LONG, ids=str)
def test_any_point_by_warpgroups(op, number, monkeypatch):
    def by_warpgroups(op, target):
        found = candidates(op, target)
        return [each for each in found if each.schedule.name == "attention_wgmma"]

    right_at(op, number, by_warpgroups, monkeypatch)


def right_at(op, number, among, monkeypatch):
    """Compile at a random candidate and compare with float64."""

    def choices(op, target, *calls):
        return (random.Random(number).choice(among(op, target)),)

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
