"""Products of groups of rows in the simulator: odd sizes, empty groups, one group with all rows."""

import random
from functools import cache

import numpy as np
import pytest

from hidet import ops, sim
from hidet.build.choosing.choices import has_schedule
from hidet.build.choosing.schedule import implement
from hidet.fusion import partition
from hidet.graph import evaluate, symbol, trace_from
from hidet.ir.expr import Var
from hidet.ops.products.grouped_matmul import GroupedMatmul
from hidet.optimize import optimize
from hidet.schedules.base import SCHEDULES, candidates
from hidet.target import Target
from hidet.testing.compare import assert_close
from hidet.testing.fused import as_run
from hidet.testing.graphs import arrays_for
from hidet.types import bf16, f16, f32, i32, i64

TARGET = Target.parse("sm_90a")
M = Var("m", i32)
OPS = [
    *GroupedMatmul.samples(),
    GroupedMatmul(f16[129, 72], f16[3, 72, 40], i32[3]),
    GroupedMatmul(bf16[37, 64], bf16[8, 33, 64], i64[8], True),
    GroupedMatmul(f32[33, 31], f32[5, 31, 17], i32[5]),
]


@pytest.mark.parametrize("op", OPS, ids=str)
def test_groups_of_any_length(op, check, is_right_simulated):
    found = candidates(op, TARGET)
    few = random.Random(str(op)).sample(found[1:], min(2, len(found) - 1)) if found else []
    for candidate in [*found[:1], *few]:
        module = candidate.schedule.apply(op, TARGET, candidate.point).module
        is_right_simulated(module, op, check)


@pytest.mark.parametrize("m", [1, 33, 129])
@pytest.mark.parametrize("name", ["grouped_mma", "grouped_stages"])
def test_a_size_known_at_run_time(name, m, check, is_right_simulated):
    op = GroupedMatmul(f16[M, 72], f16[3, 40, 72], i32[3], True)
    (schedule,) = (each for each in SCHEDULES if each.name == name)
    point = schedule.candidates(op, TARGET)[0].point
    module = schedule.apply(op, TARGET, point).module
    is_right_simulated(module, op.with_sizes(lambda size: m), check)


def test_what_follows_is_computed_where_results_are_written():
    """Rows of no group, too: they are 0 before it."""
    x, w = symbol([37, 64], f16, name="x"), symbol([3, 24, 64], f16, name="w")
    ends, bias = symbol([3], i32, name="ends"), symbol([37, 24], f16, name="bias")
    found = ops.grouped_matmul(x, ops.transpose(w, 1, 2), ends)
    graph = optimize(trace_from(ops.relu(found * 0.5 + bias)))
    (group,) = partition(graph, lambda op: has_schedule(op, TARGET))
    (made,) = implement(group, TARGET)
    assert made.schedule.startswith("grouped_")
    placing, _ = made.module.kernels
    assert placing.name.endswith("_places")
    given = dict(zip(graph.inputs, arrays_for(graph), strict=True))
    given = {each: array.astype(each.dtype.numpy) for each, array in given.items()}
    (where,) = (each for each in graph.inputs if each.dtype is i32)
    given[where] = np.array([0, 20, 30], np.int32)
    out = np.full((37, 24), np.nan, np.float16)
    sim.launch(as_run(made.module), *(given[each] for each in made.group.inputs), out)
    (wanted,) = evaluate(graph, *given.values())
    assert_close(out, wanted, f16, 64.0)


ENDS = {
    "empty groups": [0, 0, 37, 37, 37],
    "one group has all rows": [0, 70, 70, 70, 70],
    "rows of no group": [1, 2, 9, 9, 40],
    "no row has a group": [0, 0, 0, 0, 0],
    "ends outside of x": [3, 2, 80, 5, 90],
}


@cache
def cheapest(schedule, op):
    """The kernels at the first point, after all passes."""
    point = schedule.candidates(op, TARGET)[0].point
    return as_run(schedule.apply(op, TARGET, point).module)


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("schedule", [s for s in SCHEDULES if GroupedMatmul in s.ops and
                                      s.target == "cuda"], ids=lambda s: s.name)  # fmt: skip
def test_ends(schedule, ends):
    dtype = f32 if schedule.name in ("grouped_simt", "grouped_single") else f16
    op = GroupedMatmul(dtype[70, 40], dtype[5, 40, 24], i32[5])
    x, w, _ = op.examples(seed=0)
    out = np.full((70, 24), 77, dtype.numpy)
    sim.launch(cheapest(schedule, op), x, w, np.array(ends, np.int32), out)
    near = np.maximum.accumulate(np.minimum(ends, 70))
    wanted = op.reference(x.astype(np.float64), w.astype(np.float64), near)
    np.testing.assert_allclose(out, wanted, rtol=2e-2, atol=2e-2)


@pytest.mark.gpu
@pytest.mark.parametrize("op", OPS, ids=str)
def test_groups_of_any_length_on_a_gpu(op, check, is_right_on_the_gpu):
    for schedule in SCHEDULES:
        for candidate in schedule.candidates(op, TARGET)[:1]:
            module = schedule.apply(op, TARGET, candidate.point).module
            is_right_on_the_gpu(module, op, check)
