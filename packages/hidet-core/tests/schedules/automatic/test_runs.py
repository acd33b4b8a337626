"""Axes of which reductions see only runs."""

import pytest

from hidet import ops
from hidet.compute import reduce
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Get, Var
from hidet.schedules.automatic.emit import free, row_level
from hidet.schedules.automatic.plan import MapStage
from hidet.schedules.automatic.runs import by_runs
from hidet.target import Target
from hidet.types import f16, f32, i32

X, OUT = Var("x", f32[12, 5]), Var("out", f32[12, 5])
C, J = Var("c", i32), Var("j", i32)


def total_of(place):
    """The sum over j of x at `place(j)`."""
    return reduce((5,), lambda j: Get(X, (place, j)), "sum")


def test_a_run_is_an_axis_of_its_own():
    stage = by_runs(MapStage(OUT, (C, J), Get(X, (C, J)) - total_of(C // 4)))
    run, inside, last = stage.vars
    assert stage.shape == (3, 4, 5)
    assert last is J
    (total,) = row_level(stage)
    assert free(total) - {X} == {run}
    assert evaluate(stage.index[0], {run: 2, inside: 3}) == 11


@pytest.mark.parametrize(
    "value",
    [total_of(C), total_of(C // 4) + total_of(C), total_of(C // 4) + total_of(C // 3)],
    ids=["whole", "whole and runs", "runs of two lengths"],
)
def test_other_axes_stay(value):
    stage = MapStage(OUT, (C, J), Get(X, (C, J)) - value)
    assert by_runs(stage) is stage


def test_runs_that_do_not_fill_an_axis_stay():
    stage = MapStage(OUT, (C, J), Get(X, (C, J)) - total_of(C // 5))
    assert by_runs(stage) is stage


GROUPED = [((2, 12, 5, 7), 3), ((1, 6, 129), 2), ((3, 14), 7), ((1, 7, 3), 1), ((2, 32, 64, 64), 2)]


@pytest.mark.parametrize("of", [f16, f32], ids=str)
@pytest.mark.parametrize(("shape", "groups"), GROUPED, ids=str)
def test_a_group_norm_is_one_kernel(made, of, shape, groups):
    channels = of[shape[1]]
    norm = made(
        lambda x, w, b: ops.relu(ops.group_norm(x, groups, w, b)), of[shape], channels, channels
    )
    (kernel,) = norm.module.kernels
    blocks = int(kernel.launch.grid[0].value) // kernel.launch.cluster[0]
    assert blocks <= shape[0] * groups
    norm.check()


def test_a_group_norm_on_a_gpu_without_clusters(made):
    norm = made(lambda x: ops.group_norm(x, 2), f16[3, 4, 129], target=Target.parse("sm_80"))
    assert len(norm.module.kernels) == 1
    norm.check()
