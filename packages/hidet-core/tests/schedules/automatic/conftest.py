"""Functions through fusion and the automatic schedule, in the simulator and in NVRTC."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from hidet import sim
from hidet.build.choosing.choices import has_schedule
from hidet.build.choosing.schedule import implement
from hidet.codegen import cuda
from hidet.fusion import partition
from hidet.graph import FlowGraph, Tensor, evaluate
from hidet.passes.pipeline import lower
from hidet.target import Target
from hidet.toolchain.nvrtc import compile_cuda

HOPPER = Target.parse("sm_90a")
STEP = {1: 0, 2: 2.0**-10, 4: 2.0**-22, 8: 2.0**-50}


class Made:
    """A function of a few tensors as the module that the automatic schedule makes of it."""

    def __init__(self, function, *types, target=HOPPER):
        inputs = [Tensor(each, "cuda") for each in types]
        self.graph = FlowGraph(inputs, [function(*inputs)])
        groups = partition(self.graph, lambda op: has_schedule(op, target))
        (self.group,) = groups
        (implemented,) = implement(self.group, target)
        self.module = implemented.module

    def check(self, low=-1, high=1, factor=16, lowered=False, run=None):
        """Simulate it, or `run` it, on random operands and compare with float64; returns what it
        found.

        What is asynchronous is so only in `lowered` kernels.
        """
        random = np.random.default_rng(0)
        values = {
            each: random.uniform(low, high, each.shape).astype(each.dtype.numpy)
            for each in self.graph.inputs
        }
        wide = [values[each].astype(np.float64) for each in self.graph.inputs]
        (expected,) = evaluate(self.graph, *wide)
        (result,) = self.graph.outputs
        out = np.full(result.shape, 77, result.dtype.numpy)
        kernels = tuple(lower(each) if lowered else each for each in self.module.kernels)
        module = replace(self.module, kernels=kernels)
        launch = run or partial(sim.launch, module)
        launch(*(values[each] for each in self.group.inputs), out)
        error = np.abs(out.astype(np.float64) - expected)
        allowed = factor * STEP[out.dtype.itemsize] * np.maximum(1, np.abs(expected))
        assert (error <= allowed).all(), f"{error.max()} at {np.argmax(error)} of {out.shape}"
        return out

    def build(self, arch="sm_90a"):
        """Its CUDA text, and what NVRTC says that the kernels need."""
        text = cuda.emit([lower(kernel) for kernel in self.module.kernels])
        return text, compile_cuda(text, arch=arch).usage


@pytest.fixture(scope="session")
def made():
    return Made


def result(found, x):
    """What a function of one tensor comes to in the simulator."""
    (kernel,) = found.module.kernels
    out = np.full(x.shape, 77, x.dtype)
    sim.launch(replace(found.module, kernels=(lower(kernel),)), x, out)
    return out


def right_softmax(softmax):
    """A softmax of six long rows of float32, each of them special, is right."""
    x = np.random.default_rng(0).normal(size=softmax.graph.inputs[0].shape).astype(np.float32)
    x[0], x[0, 5000] = -np.inf, 3.0
    x[1] = -np.inf
    x[2, 77] = np.nan
    x[3] = 7.5
    x[4] *= 5e37
    x[4, 40] = 3e38
    x[5, 9] = np.inf
    y = result(softmax, x)
    assert y[0, 5000] == 1
    assert y[0].sum() == 1
    assert np.isnan(y[1:3]).all()
    np.testing.assert_allclose(y[3], 1 / x.shape[1], rtol=1e-6)
    assert y[4, 40] == 1
    assert y[4].sum() == 1
    assert np.isnan(y[5]).all()


def right_norm(norm):
    """A layer norm of six long rows of float32, most of them special, is right."""
    x = np.random.default_rng(0).normal(size=norm.graph.inputs[0].shape).astype(np.float32)
    x[0] = 0
    x[1] = 1.0
    x[2, 77] = np.nan
    x[3] += 1e4  # what is common to all values is no part of the variance
    x[4, 9] = np.inf
    y = result(norm, x)
    assert (y[:2] == 0).all()
    assert np.isnan(y[2]).all()
    assert np.isnan(y[4]).all()
    wide = x[3].astype(np.float64)
    np.testing.assert_allclose(y[3], (wide - wide.mean()) / wide.std(), atol=2e-3)


@pytest.fixture
def is_right_softmax():
    """Asserts that a softmax of six long rows is right where they are special."""
    return right_softmax


@pytest.fixture
def is_right_norm():
    """Asserts the same of a layer norm."""
    return right_norm
