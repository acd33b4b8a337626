"""Functions of every float16 and bfloat16 on the GPU: as near to the truth as rounding allows."""

import math

import numpy as np
import pytest

from hidet import ops
from hidet.build.compile import compile_graph
from hidet.graph import FlowGraph, Tensor
from hidet.runtime.binding.memory import array_of, to_device
from hidet.runtime.executor import Executor
from hidet.types import bf16, f16, f32

pytestmark = pytest.mark.gpu
DEVICE = "cuda:0"
erfc = np.vectorize(math.erfc, otypes=[np.float64])


def logistic(x):
    return np.where(x > 0, 1, np.exp(np.minimum(x, 0))) / (1 + np.exp(-np.abs(x)))


def gelu_of_tanh(x):
    return x * logistic(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


FUNCTIONS = {
    "gelu": (ops.gelu, lambda x: x * 0.5 * erfc(-x / math.sqrt(2))),
    "gelu by tanh": (lambda x: ops.gelu(x, approximate="tanh"), gelu_of_tanh),
    "tanh": (ops.tanh, np.tanh),
    "sigmoid": (ops.sigmoid, logistic),
    "silu": (ops.silu, lambda x: x * logistic(x)),
    "exp": (ops.exp, np.exp),
    "sqrt": (ops.sqrt, np.sqrt),
}


def of_all(function, of):
    """All numbers of a type, and what a function makes of them on the GPU."""
    array = np.arange(65536, dtype=np.uint16).view(of.numpy)
    x = Tensor(of[65536], DEVICE)
    executor = Executor(compile_graph(FlowGraph([x], [function(x)], "case")).archive, DEVICE)
    return array, array_of(executor([to_device(array, DEVICE)])[0]).astype(np.float64)


@pytest.mark.parametrize("of", [f16, bf16], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_number(name, of):
    function, exact = FUNCTIONS[name]
    array, found = of_all(function, of)
    wide = array.astype(np.float64)
    with np.errstate(all="ignore"):
        expected = exact(wide)
        nearest = expected.astype(of.numpy).astype(np.float64)
    usual = np.isfinite(nearest) & (np.abs(wide) < 80)
    if of is bf16:  # float32 itself is at its end there
        usual &= (np.abs(expected) > 2.0**-118) | (expected == 0)
    assert np.isfinite(found[usual]).all()
    places = {f16: 11, bf16: 8}[of]
    least = {f16: -24, bf16: -133}[of]
    unit = 2.0 ** np.maximum(np.frexp(nearest[usual])[1] - places, least)
    error = np.abs(found[usual] - expected[usual]) / unit
    assert error.max() < 0.53, f"at {wide[usual][error.argmax()]}"


@pytest.mark.parametrize("of", [f16, bf16], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_number_that_is_not_rounded(name, of):
    """What readers in the same kernel get: right to a few bits more than rounding would leave."""
    function, exact = FUNCTIONS[name]
    array, found = of_all(lambda x: ops.cast(function(x), f32), of)
    wide = array.astype(np.float64)
    with np.errstate(all="ignore"):
        expected = exact(wide)
    least = {f16: 2.0**-14, bf16: 2.0**-118}[of]
    usual = (np.abs(wide) < 80) & (np.abs(expected) < np.finfo(np.float32).max)
    usual &= (np.abs(expected) >= least) | (of is f16)
    error = np.abs(found - expected)[usual] / np.maximum(np.abs(expected[usual]), least)
    assert error.max() < {f16: 2.0**-15, bf16: 2.0**-14}[of], f"at {wide[usual][error.argmax()]}"
