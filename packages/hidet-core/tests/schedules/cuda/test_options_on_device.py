"""What options of products change, on a GPU: tf32, float16 sums, ordinary units, shared sums."""

import numpy as np
import pytest

from hidet.build.compile import compile_graph
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node, Tensor
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.windows.conv import Conv
from hidet.options import options
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.executor import Executor
from hidet.types import bf16, f16, f32

pytestmark = pytest.mark.gpu
DEVICE = "cuda:0"
SAME = ((1, 1), (1, 1))
SINGLE = [
    Matmul(f32[300, 513], f32[513, 129]),
    Matmul(f32[3, 256, 520], f32[3, 520, 264], False, False),
    Linear(f32[128, 768], f32[768, 768], f32[768]),
    Conv(f32[1, 16, 28, 28], f32[32, 16, 3, 3], f32[32], (1, 1), SAME, (1, 1), 1),
]


def error(op, **chosen):
    """The largest error of an operator, compiled and run with options, beside the largest value."""
    arrays = op.examples(seed=0)
    inputs = [Tensor(each, DEVICE) for each in op.types()]
    node = Node(op, tuple(inputs), device=DEVICE)
    graph = FlowGraph(inputs, list(node.outputs), op.name)
    with options(**chosen):
        executor = Executor(compile_graph(graph).archive, DEVICE)
    found = array_of(executor([to_device(each, DEVICE) for each in arrays])[0])
    wide = [np.asarray(each, np.float64) for each in arrays]
    expected = op.reference(*op.arrange(wide))
    return np.abs(found.astype(np.float64) - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize("op", SINGLE, ids=str)
def test_tf32_has_ten_bits_and_float32_more(op):
    assert error(op) < 1e-6
    assert 1e-6 < error(op, tf32=True) < 2e-3
    assert error(op, tf32=True, mma="simt") < 1e-6


def test_sums_in_float16():
    op = Linear(f16[128, 512], f16[128, 512], f16[128])
    assert error(op) < 1e-3
    assert error(op) < error(op, fp16_reduction=True) < 2e-2


@pytest.mark.parametrize("of", [f16, bf16])
@pytest.mark.parametrize("share", ["default", "disabled", "search", 2, 8])
def test_half_precision_whoever_multiplies_and_however_many_share(of, share):
    op = Linear(of[64, 2048], of[128, 2048], None)
    for units in ("mma", "simt"):
        assert error(op, mma=units, parallel_k=share) < 1e-2
