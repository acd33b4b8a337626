"""Control flow on a GPU, where the host reads the conditions."""

import numpy as np
import pytest

from hidet import ops
from hidet.graph import asarray, evaluate, symbol, trace_from
from hidet.testing.compare import assert_close

pytestmark = pytest.mark.gpu


def values(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def check(results, inputs, *arrays):
    """What the GPU gives, called twice, is what the references mean."""
    graph = trace_from(results, inputs)
    wanted = evaluate(graph, *arrays)
    for _ in range(2):
        found = graph(*(asarray(each).to("cuda") for each in arrays))
        found = found if isinstance(found, tuple) else (found,)
        for tensor, each in zip(found, wanted, strict=True):
            assert_close(tensor.cpu().numpy(), each, tensor.dtype, 64)


@pytest.mark.parametrize("sign", [1, -1])
def test_one_branch_runs(sign):
    x = symbol(("n", 3), device="cuda")
    w = asarray(values(3, 3)).to("cuda")
    y = ops.if_(ops.sum(x) > 0, lambda: (x @ w, x), lambda: (x - 1.0, x * 2.0))
    check(y, x, sign * np.abs(values(5, 3)))


@pytest.mark.parametrize("start", [0.0, 20.0, 1000.0])
def test_a_while_loop_ends_when_its_condition_does(start):
    x = symbol((129,), device="cuda")
    results = ops.while_loop(lambda v: ops.sum(v) < 3000.0, lambda v: (v * 1.5 + 1.0,), x)
    check(results, x, np.full(129, start, np.float32))


@pytest.mark.parametrize("length", [1, 7])
def test_a_scan_goes_through_rows(length):
    x = symbol(("n", 3), device="cuda")
    w = asarray(values(3, 3)).to("cuda")
    zeros = ops.zeros((3,), device="cuda")

    def body(h, row):
        h = ops.reshape(ops.tanh(ops.reshape(h, (1, 3)) @ w + row), (3,))
        return h, h

    last, rows = ops.scan(body, [zeros], [x])
    check([*last, *rows], x, values(length, 3))


def test_loops_and_branches_lie_within_each_other():
    x = symbol(("n", 2), device="cuda")

    def inner(turn, h):
        more = ops.if_(ops.sum(h) > 1.0, lambda: h * 0.5, lambda: h + x)
        return None, (more,), ()

    def outer(turn, h):
        (h,), _, _ = ops.loop(inner, [h], trips=turn + 1)
        return None, (h,), (ops.sum(h),)

    (last,), (sums,), _ = ops.loop(outer, [x], trips=4)
    check([last, sums], x, np.abs(values(3, 2)))
