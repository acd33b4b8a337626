"""Fused groups on a point of a schedule's space, in the simulator."""

import numpy as np
import pytest

from hidet import sim
from hidet.build.choosing.choices import has_schedule
from hidet.build.choosing.schedule import implement
from hidet.driver import build_ir_module
from hidet.fusion import partition
from hidet.graph import evaluate
from hidet.options import options
from hidet.passes.pipeline import lower
from hidet.runtime.binding.memory import array_of, to_device
from hidet.schedules.base import Choice
from hidet.target import Target
from hidet.testing.compare import assert_close
from hidet.testing.fused import as_run
from hidet.testing.graphs import arrays_for

TARGET = Target.parse("sm_90a")


def scheduled(graph, schedule, point):
    """A graph as the one group that it is, by a schedule at this point."""
    with options(parallel_k=getattr(point, "slices", 1)):
        (group,) = partition(graph, lambda op: has_schedule(op, TARGET))
        group.choice = Choice(schedule, point)
        (made,) = implement(group, TARGET)
    assert made.schedule == schedule
    return made


def one_kernel(graph, schedule, point):
    """A graph in float16 is one kernel of a schedule at this point, and right."""
    made = scheduled(graph, schedule, point)
    (kernel,) = made.module.kernels
    halves = [each.astype(np.float16) for each in arrays_for(graph)]
    arrays = dict(zip(graph.inputs, halves, strict=True))
    out = np.full(graph.outputs[0].shape, np.nan, np.float16)
    values = dict(zip(made.group.inputs, made.module.params, strict=False))
    given = {values[each]: arrays[each] for each in made.group.inputs}
    given[made.module.params[-1]] = out
    sim.launch(lower(kernel), *(given[each] for each in kernel.params))
    (wanted,) = evaluate(graph, *arrays.values())
    assert_close(out, wanted, graph.outputs[0].dtype, 64.0)


def simulated(module, op, check, **sizes):
    """An operator's module, as it is launched, is right in the simulator."""
    arrays, result = op.examples(seed=0), op.results()[0]
    out = np.full(result.shape, 77, result.dtype.numpy)
    sim.launch(as_run(module), *arrays, out, **sizes)
    check(op, arrays, out)


def thrice(module, op, check):
    """An operator's module is right on a GPU, and gives the same bits each time."""
    function = build_ir_module(module, TARGET)
    arrays, result = op.examples(seed=0), op.results()[0]
    given = [to_device(np.asarray(each), "cuda:0") for each in arrays]
    found = []
    for _ in range(3):
        poison = np.nan if result.dtype.is_float else 77
        out = to_device(np.full(result.shape, poison, result.dtype.numpy), "cuda:0")
        function(*given, out)
        found.append(array_of(out))
    check(op, arrays, found[0])
    assert all(each.tobytes() == found[0].tobytes() for each in found)


@pytest.fixture
def is_right_simulated():
    """Asserts that an operator's module is right in the simulator."""
    return simulated


@pytest.fixture
def is_right_on_the_gpu():
    """Asserts that an operator's module is right there, each time to the bit."""
    return thrice


@pytest.fixture
def fused():
    """The module of a graph that is one group, by a schedule at a point."""
    return lambda *given: scheduled(*given).module


@pytest.fixture
def is_one_kernel():
    """Asserts that a graph is one kernel of a schedule at a point, and right."""
    return one_kernel


@pytest.fixture
def takes_warpgroups():
    """Asserts that a schedule takes what it is asked about where there are warpgroups that may sum
    in float32, and nowhere else."""

    def check(taken):
        assert taken(TARGET)
        assert not taken(Target.parse("sm_80"))
        with options(fp16_reduction=True):
            assert not taken(TARGET)
        with options(mma="simt"):
            assert not taken(TARGET)

    return check
