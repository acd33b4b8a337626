"""Every kind of kernel where a size is known only at run time."""

import numpy as np
import pytest

from hidet import ops, sim
from hidet.graph import FlowGraph, Tensor, evaluate
from hidet.ir.expr import Var
from hidet.types import f16, f32, i32

S = Var("s0", i32)
CASES = {
    "columns": (lambda x: ops.sum(x, (0,)), lambda s: f32[s, 40]),
    "how many columns": (lambda x: ops.sum(x, (0,)), lambda s: f32[70, s]),
    "columns between": (lambda x: ops.mean(x, (1,)), lambda s: f32[3, s, 40]),
    "softmax of columns": (lambda x: ops.softmax(x, 0), lambda s: f32[s, 40]),
    "softmax of many columns": (lambda x: ops.softmax(x, 0), lambda s: f32[20, s]),
    "transpose": (lambda x: ops.transpose(x, 0, 1) * 2.0, lambda s: f16[s, 40]),
    "the other transpose": (lambda x: ops.transpose(x, 0, 1) * 2.0, lambda s: f16[64, s]),
    "rows": (lambda x: ops.softmax(x, -1), lambda s: f32[s, 40]),
    "length of rows": (lambda x: ops.softmax(x, -1), lambda s: f32[20, s]),
    "elementwise": (lambda x: x * 2.0, lambda s: f32[s, 40]),
}


@pytest.mark.parametrize("size", [1, 2, 7, 33, 257])
@pytest.mark.parametrize("name", CASES)
def test_sizes_of_run_time(made, name, size):
    function, type_of = CASES[name]
    symbolic = made(function, type_of(S))
    of = type_of(size)
    x = np.random.default_rng(0).uniform(-1, 1, of.shape).astype(of.dtype.numpy)
    known = Tensor(of, "cpu")
    (expected,) = evaluate(FlowGraph([known], [function(known)]), x.astype(np.float64))
    out = np.full(expected.shape, 77, x.dtype)
    sim.launch(symbolic.module, x, out, s0=size)
    assert np.abs(out - expected).max() < 2e-5
