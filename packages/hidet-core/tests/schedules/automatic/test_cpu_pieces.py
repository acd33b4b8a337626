"""Softmax of long rows on CPU: pieces with centres of their own, simulated and compiled."""

import numpy as np
import pytest

from hidet import ops, sim
from hidet.ir.expr import Div, Math
from hidet.ir.walk import find
from hidet.schedules.automatic.cpu import pieces as cpu_pieces
from hidet.target import Target
from hidet.testing.fused import as_run
from hidet.types import bf16, f32, f64

CPU = Target.parse("cpu+avx512")
CASES = {
    "three rows": (lambda x: ops.softmax(x, axis=1), f32[3, 331]),
    "whole pieces": (lambda x: ops.softmax(x, axis=1), f32[2, 256]),
    "one left": (lambda x: ops.softmax(x, axis=1), f32[5, 129]),
    "one row": (lambda x: ops.softmax(x, axis=0), f32[1009]),
    "several axes": (lambda x: ops.softmax(x, axis=2), f32[2, 7, 131]),
    "a prologue": (lambda x: ops.softmax(x * 0.5 + 1.0, axis=1), f32[3, 331]),
    "an epilogue": (lambda x: ops.softmax(x, axis=1) * 2.0 + 1.0, f32[3, 331]),
    "doubles": (lambda x: ops.softmax(x, axis=1), f64[3, 331]),
    "narrow": (lambda x: ops.softmax(x, axis=1), bf16[3, 331]),
}


@pytest.fixture
def short(monkeypatch):
    """Pieces short enough to simulate."""
    monkeypatch.setattr(cpu_pieces, "PIECE", 64)


@pytest.mark.parametrize("name", CASES)
def test_simulated(short, made, name):
    function, *types = CASES[name]
    found = made(function, *types, target=CPU)
    assert len(found.module.kernels) == 3
    found.check(low=-9, high=9, lowered=True)


@pytest.mark.parametrize("name", CASES)
def test_compiled(short, made, compile_modules, name):
    function, *types = CASES[name]
    found = made(function, *types, target=CPU)
    compiled = compile_modules([found.module], "-O3", "-fopenmp-simd")
    found.check(low=-90, high=90, run=lambda *arrays: compiled(0, *arrays))


def test_powers_are_computed_once_and_multiplied(made):
    found = made(lambda x: ops.softmax(x, axis=1), f32[3, 16384], target=CPU)
    pieces, _, elements = found.module.kernels
    assert [each.name for each in dict.fromkeys(find(pieces.body, Math))] == ["exp_nonpositive"]
    assert not list(find(elements.body, Math))
    assert not list(find(elements.body, Div))


@pytest.mark.parametrize(
    ("function", "of"),
    [
        (lambda x: ops.softmax(x, axis=1), f32[3, 4096]),
        (lambda x: ops.softmax(x, axis=1), f32[64, 16384]),
        (lambda x: ops.softmax(x, axis=0), f32[16384, 3]),
        (lambda x: ops.log_softmax(x, axis=1), f32[3, 100003]),
    ],
    ids=["short", "many", "columns", "logarithm"],
)
def test_others_have_no_pieces(made, function, of):
    module = made(function, of, target=CPU).module
    assert "powers" not in [each.name for each in module.workspaces]


def test_rows_with_infinities_and_nan(short, made):
    found = made(lambda x: ops.softmax(x, axis=1), f32[5, 200], target=CPU)
    x = np.random.default_rng(0).normal(size=(5, 200)).astype(np.float32)
    x[0, :70] = -np.inf
    x[1] = -np.inf
    x[2, 150] = np.inf
    x[3, 3] = np.nan
    x[4, 64:128] -= 200  # a piece whose powers vanish beside the others
    y = np.zeros_like(x)
    sim.launch(as_run(found.module, CPU), x, y)
    with np.errstate(invalid="ignore"):
        powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
        wanted = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-30)
