"""Task loops become plain loops."""

from dataclasses import replace

import pytest

from hidet.ir.expr import Builtin, Load, Var, wrap
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import ForTasks, Store
from hidet.mapping import auto_map, predicated, repeat, spatial
from hidet.passes.loops.unfold_tasks import unfold_tasks
from hidet.passes.pipeline import lower
from hidet.types import f32, i32

THREAD = Builtin("threadIdx.x")
i, j = Var("i", i32), Var("j", i32)


def writing(mapping, kernels, threads=None):
    x = Var("x", f32[mapping.shape])
    body = (ForTasks((i, j), mapping, THREAD, (Store(x, (i, j), (i * 100 + j).cast(f32)),)),)
    return Kernel("k", (x,), body, launch=kernels.grid(threads=threads or mapping.workers))


def text(kernel):
    return str(kernel).split("\n", 2)[2]


def test_loops_and_indices(kernels):
    kernel = writing(spatial(2, 4) * repeat(2, 1), kernels)
    assert text(unfold_tasks(kernel)) == (
        "  for r in 2:  # unroll\n"
        "    i: i32 = (((threadIdx.x // 4) * 2) + r)\n"
        "    j: i32 = (threadIdx.x % 4)\n"
        "    x[i, j] = f32(((i * 100) + j))"
    )


def test_neighbours_are_a_vector_loop_where_order_does_not_matter(kernels):
    assert "for r in 2:  # vector" in text(
        unfold_tasks(writing(spatial(4, 2) * repeat(1, 2), kernels))
    )
    x = Var("x", f32[8])
    shifted = ForTasks((i,), repeat(4), THREAD, (Store(x, (i,), Load(x, (i + 1,))),))
    kernel = Kernel("k", (x,), (shifted,), launch=kernels.grid(threads=1))
    assert "# unroll" in text(unfold_tasks(kernel))
    on_cpu = replace(writing(repeat(2, 2), kernels, 1), kind=KernelKind.CPU)
    assert "# vector" not in text(unfold_tasks(on_cpu))


def test_a_row_goes_through_a_mapping_in_vectors(kernels):
    kernel = lower(writing(spatial(2, 1) * repeat(2, 1) * spatial(1, 4) * repeat(1, 2), kernels))
    assert text(kernel).count(" = <") == 2


def test_no_loop_where_each_worker_has_one_task(kernels):
    assert "for" not in text(unfold_tasks(writing(spatial(2, 4), kernels)))


def test_many_iterations_stay_a_loop(kernels):
    kernel = unfold_tasks(writing(spatial(1, 2) * repeat(65, 1), kernels))
    assert "for r in 65:\n" in text(kernel)


def test_idle_workers_and_tasks_outside_are_guarded(kernels):
    mapping = predicated(spatial(2, 4), workers=32, shape=(2, 3))
    lines = text(unfold_tasks(writing(mapping, kernels))).splitlines()
    assert lines[0] == "  if (threadIdx.x < 8):"
    assert lines[1] == "    if ((threadIdx.x % 4) < 3):"


def test_a_kernel_without_task_loops_stays_itself(kernels):
    kernel = unfold_tasks(writing(spatial(2, 4), kernels))
    assert unfold_tasks(kernel) is kernel


@pytest.mark.parametrize(
    "mapping",
    [
        spatial(2, 4) * repeat(2, 1),
        repeat(2, 3) * spatial(4, 1) * repeat(1, 2),
        auto_map(6, 8, workers=16),
        predicated(spatial(3, 4) * repeat(2, 2), workers=16, shape=(5, 7)),
    ],
    ids=str,
)
def test_same_meaning(mapping, kernels, agree):
    agree(writing(mapping, kernels), [mapping.shape], [unfold_tasks])


def test_nested_task_loops(kernels, agree):
    x = Var("x", f32[8, 6])
    a, b = Var("a", i32), Var("b", i32)
    store = Store(x, (i * 2 + a, j * 3 + b), (a + b).cast(f32))
    inner = ForTasks((a, b), repeat(2, 3), wrap(0), (store,))
    outer = ForTasks((i, j), spatial(4, 2), THREAD, (inner,))
    agree(Kernel("k", (x,), (outer,), launch=kernels.grid(threads=8)), [(8, 6)], [unfold_tasks])
