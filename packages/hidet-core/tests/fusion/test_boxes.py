"""Matmuls and convolutions by warpgroups read parts of tensors where they are, in the simulator."""

import numpy as np
import pytest

from hidet import ops
from hidet.build.choosing import choices as chosen
from hidet.build.compile import compile_graph
from hidet.graph import evaluate, symbol, trace_from
from hidet.runtime.binding.memory import array_of, view_of
from hidet.runtime.executor import Executor
from hidet.schedules.base import candidates
from hidet.testing.compare import assert_close

HALF = "float16"


def half(*shape):
    return symbol(shape, HALF)


CASES = {
    "columns of a wider matrix": (
        lambda x, w: ops.linear(x[:, 64:128], w), [half(70, 200), half(24, 64)],
    ),
    "columns, rows of two axes": (
        lambda x, w: ops.linear(x[:, :, 8:80], w), [half(2, 35, 88), half(24, 72)],
    ),
    "one row of each": (lambda x, w: ops.linear(x[:, 3], w), [half(70, 5, 64), half(24, 64)]),
    "rows behind others": (lambda x, w: ops.linear(x[1, 9:], w), [half(2, 79, 64), half(24, 64)]),
    "heads of both operands": (
        lambda x, y: ops.matmul(ops.transpose(x[:, 1:], 0, 1), ops.transpose(y, 0, 1)),
        [half(33, 4, 64), half(64, 3, 40)],
    ),
    "a transposed stack": (
        lambda x, y: ops.matmul(x, ops.transpose(y[:, 16:])), [half(3, 33, 64), half(3, 56, 64)],
    ),
    "half of an image's channels": (
        lambda x, w: ops.conv(x[..., 64:], w, padding=1, channels_last=True),
        [half(2, 7, 9, 128), half(24, 3, 3, 64)],
    ),
    "an image within another": (
        lambda x, w: ops.conv(x[1:, 2:, 1:8], w, stride=2, padding=1, channels_last=True),
        [half(3, 9, 9, 64), half(24, 3, 3, 64)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_part_is_read_where_it_is(monkeypatch, name):
    def on_warpgroups(op, target, *calls):
        found = candidates(op, target)
        return [each for each in found if each.schedule.name.endswith("_wgmma")][:1]

    monkeypatch.setattr(chosen, "choices", on_warpgroups)
    make, inputs = CASES[name]
    y = make(*inputs)
    graph = trace_from([y], inputs)
    compiled = compile_graph(graph, "sim")
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(each.shape).astype(np.float16) for each in inputs]
    executor = Executor(compiled.archive, "cpu")
    (found,) = map(array_of, executor([view_of(each) for each in arrays]))
    (expected,) = evaluate(graph, *arrays)
    assert len(compiled.archive.main.steps) == 1
    assert_close(found, expected, y.dtype, 64.0)
