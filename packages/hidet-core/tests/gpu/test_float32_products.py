"""Float32 on tensor cores, on the GPU: no less precise than ordinary units, and no number lost."""

import numpy as np
import pytest

from hidet.build import draft
from hidet.build.choosing import choices as chosen
from hidet.build.compile import compile_graph
from hidet.build.planning.kernels import Recipes
from hidet.build.target import target_on
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Node, Tensor
from hidet.ops.products.matmul import Linear, Matmul
from hidet.ops.windows.conv import Conv
from hidet.options import options
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.executor import Executor
from hidet.schedules.base import candidates
from hidet.types import f32

pytestmark = pytest.mark.gpu
DEVICE = "cuda:0"
ONE, SAME = (1, 1), ((1, 1), (1, 1))
OPS = [
    Linear(f32[128, 768], f32[768, 768], f32[768]),
    Matmul(f32[301, 513], f32[513, 130]),
    Matmul(f32[12, 128, 64], f32[12, 64, 128]),
    Matmul(f32[3, 129, 257], f32[3, 67, 129], True, True),
    Conv(f32[2, 64, 28, 28], f32[96, 64, 3, 3], f32[96], ONE, SAME, ONE, 1),
]


@pytest.fixture
def found(monkeypatch):
    """(op, arrays, candidate) -> the result by that candidate."""

    def run(op, arrays, candidate):
        monkeypatch.setattr(chosen, "choices", lambda *_: (candidate,))
        monkeypatch.setattr(draft, "RECIPES", Recipes())
        inputs = [Tensor(each, DEVICE) for each in op.types()]
        node = Node(op, tuple(inputs), device=DEVICE)
        graph = FlowGraph(inputs, list(node.outputs), op.name)
        with options(cache=False):
            executor = Executor(compile_graph(graph).archive, DEVICE)
        (out,) = executor([to_device(np.asarray(each), DEVICE) for each in arrays])
        return array_of(out)

    return run


def best_of_each(op):
    """The cheapest candidate of each schedule, by the schedule's name."""
    best = {}
    for each in candidates(op, target_on(DEVICE)):
        best.setdefault(each.schedule.name, each)
    return best


@pytest.mark.parametrize("op", OPS, ids=str)
def test_no_less_precise_than_one_sum_on_ordinary_units(op, found):
    arrays = op.examples(seed=0)
    exact = op.reference(*op.arrange([np.asarray(each, np.float64) for each in arrays]))
    best = best_of_each(op)
    with options(parallel_k="disabled"):
        (plain,) = (each for name, each in best_of_each(op).items() if name.endswith("_simt"))
        one_sum = np.linalg.norm(found(op, arrays, plain) - exact)
    errors = {
        name: np.linalg.norm(found(op, arrays, each) - exact) / one_sum
        for name, each in best.items()
    }
    assert len(errors) > 1
    assert max(errors.values()) <= 1.25, errors


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, np.finfo(np.float32).max], ids=str)
def test_what_has_no_two_parts_is_multiplied_as_it_is(special, found):
    op = Linear(f32[70, 200], f32[129, 200], None)
    x, weight = (np.array(each) for each in op.examples(seed=0))
    x[1, 33], weight[2, 33], weight[3, 33], weight[128, 33] = special, 1.0, 0.0, -0.5
    by = best_of_each(op)
    wanted = found(op, [x, weight], by.pop("matmul_simt"))
    assert np.isnan(wanted[1, 3]) == (not np.isfinite(special))
    assert len(by) > 1
    for each in by.values():
        np.testing.assert_allclose(found(op, [x, weight], each), wanted, rtol=1e-5, atol=1e-4)
