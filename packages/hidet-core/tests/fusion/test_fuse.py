"""Fused kernels compute what the operators do one by one, on graphs made at random."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hidet import ops, sim
from hidet.build.choosing.choices import has_schedule
from hidet.build.choosing.schedule import implement, neighbours, reachable, split
from hidet.fusion import partition
from hidet.graph import evaluate, symbol, trace_from
from hidet.ir.expr import Get, Load
from hidet.ir.stmt import Put, Store
from hidet.ir.walk import rebuild_body
from hidet.optimize import optimize
from hidet.target import Target
from hidet.testing.compare import assert_close
from hidet.testing.fused import as_run
from hidet.testing.fuzz import random_case
from hidet.testing.fuzz.judge import differences
from hidet.testing.graphs import arrays_for
from hidet.types import f32

CUDA = Target.parse("sm_90a")
FACTOR = 64.0
FEW = settings(max_examples=25, suppress_health_check=list(HealthCheck))


def simulated(graph, arrays, launch, scheduled=lambda op: has_schedule(op, CUDA)):
    """The graph's outputs, each group by its kernels in the simulator."""
    values = dict(zip(graph.inputs, arrays, strict=True))
    values |= {each: each.numpy() for each in graph.constants}
    for group in partition(graph, scheduled):
        for made in implement(group, CUDA):
            for each in made.group.results:
                nothing = np.nan if each.dtype.is_float else 0
                values[each] = np.full(each.shape, nothing, each.dtype.numpy)
            tensors = [*made.group.inputs, *made.group.results]
            launch(made.module, [values[each] for each in tensors])
    return [values[each] for each in graph.outputs]


def scheduled_only(module, arrays):
    sim.launch(module, *arrays)


def lowered(module, arrays):
    sim.launch(as_run(module), *arrays)


@pytest.mark.parametrize("launch", [scheduled_only, lowered])
@FEW
@given(seed=st.integers(0, 1 << 30))
def test_fused_is_unfused_in_value(launch, seed):
    case = random_case(seed, largest=256, types=(f32,), dynamic=0)
    # Kernels run alone here; those of control flow are run in plans, by test_loops and the fuzz.
    assume(all(node.op.kind == "kernels" for node in case.graph.nodes))
    found = simulated(optimize(case.graph), case.arrays(0), launch)
    assert differences(case, [found]) == ""


@pytest.mark.parametrize("shape", [(24,), (1, 1, 24)])
def test_rows_beyond_an_axis_that_the_epilogue_drops_are_not_written(shape):
    x, w = symbol((1, 16), device="cuda"), symbol((16, 24), device="cuda")
    graph = trace_from([ops.reshape(ops.matmul(x, w), shape) + 1.0], [x, w])
    (group,) = partition(graph, lambda op: has_schedule(op, CUDA))
    assert group.anchor is not None
    arrays = arrays_for(graph)
    (found,) = simulated(graph, arrays, lowered)
    assert_close(found, evaluate(graph, *arrays)[0], graph.outputs[0].dtype, FACTOR)


def test_the_border_of_the_first_part_of_a_tensor_is_zero():
    x, w = symbol((2, 4, 3, 5), device="cuda"), symbol((3, 4, 2, 2), device="cuda")
    graph = trace_from([ops.conv(x[:, :, :1, :], w, padding=1)], [x, w])
    (group,) = partition(graph, lambda op: has_schedule(op, CUDA))
    assert len(group.nodes) == 2
    arrays = arrays_for(graph)
    (found,) = simulated(graph, arrays, lowered)
    assert_close(found, evaluate(graph, *arrays)[0], graph.outputs[0].dtype, FACTOR)


def test_a_schedule_without_a_hook_leaves_the_others_apart():
    x, w = symbol((4, 16), device="cuda"), symbol((16, 24), device="cuda")
    graph = trace_from([ops.relu(ops.matmul(x * 2.0, w))], [x, w])
    (group,) = partition(graph, lambda op: has_schedule(op, CUDA))
    parts = split(group)
    assert [[node.op.name for node in part.nodes] for part in parts] == [
        ["full", "multiply"],
        ["matmul"],
        ["relu"],
    ]
    assert all("no hook" in part.reason for part in parts)
    made = implement(group, CUDA)[0].module
    count = neighbours(group)
    assert reachable(group, without_hooks(made, set()), count) == reachable(group, made, count)
    assert not reachable(group, without_hooks(made, set(made.params)), count)


def without_hooks(module, barred):
    """The module reading and writing some parameters without their hooks."""

    def change(node):
        match node:
            case Get(tensor, index) if tensor in barred:
                return Load(tensor, index)
            case Put(tensor, index, value) if tensor in barred:
                return Store(tensor, index, value)
        return node

    kernels = tuple(replace(k, body=rebuild_body(k.body, change)) for k in module.kernels)
    return replace(module, kernels=kernels)
