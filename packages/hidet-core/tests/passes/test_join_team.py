"""Small loops leave the team, others do not."""

import numpy as np
import pytest

from hidet import sim
from hidet.ir.expr import Load, Var, wrap
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import For, If, LoopKind, Store, While
from hidet.ir.walk import find
from hidet.passes.launches.join_team import ENOUGH, join_team, operations
from hidet.types import f32, i32

x, y = Var("x", f32[64]), Var("y", f32[64])
i, j, n = (Var(name, i32) for name in "ijn")
COPY = Store(y, (i,), Load(x, (i,)))


def parallel(extent, *body, var=i):
    return For(var, extent if isinstance(extent, Var) else wrap(extent), body, LoopKind.PARALLEL)


def kinds(*body):
    made = join_team(Kernel("k", (x, y), body, kind=KernelKind.CPU))
    return [loop.kind for loop in find(made.body, For)]


@pytest.mark.parametrize(
    ("loop", "kind"),
    [
        (parallel(64, COPY), LoopKind.SERIAL),
        (parallel(64, For(j, wrap(8), (COPY,))), LoopKind.SERIAL),
        (parallel(64, If(i < 3, (COPY,))), LoopKind.SERIAL),
        (parallel(ENOUGH, COPY), LoopKind.PARALLEL),
        (parallel(64, For(j, wrap(ENOUGH), (COPY,))), LoopKind.PARALLEL),
        (parallel(n, COPY), LoopKind.PARALLEL),
        (parallel(4, For(j, n, (COPY,))), LoopKind.PARALLEL),
        (parallel(4, While(Load(x, (i,)) < 1.0, (COPY,))), LoopKind.PARALLEL),
    ],
)
def test_what_is_little(loop, kind):
    assert kinds(loop)[-1] is kind


def test_loops_inside_are_looked_at_by_themselves():
    inner = parallel(8, COPY, var=j)
    assert kinds(For(i, wrap(ENOUGH), (inner,))) == [LoopKind.SERIAL, LoopKind.SERIAL]
    assert kinds(parallel(8, inner)) == [LoopKind.SERIAL, LoopKind.SERIAL]
    assert kinds(parallel(ENOUGH, inner)) == [LoopKind.PARALLEL, LoopKind.PARALLEL]


def test_operations_are_counted_with_their_iterations():
    once = operations(COPY)
    assert operations(For(i, wrap(10), (COPY,))) == 10 * (1 + once)


def test_a_kernel_of_a_gpu_has_no_team():
    kernel = Kernel("k", (x, y), (parallel(64, COPY),))
    assert join_team(kernel) is kernel


def test_values_stay_as_they_are():
    kernel = join_team(Kernel("k", (x, y), (parallel(64, COPY),), kind=KernelKind.CPU))
    given = np.arange(64, dtype=np.float32)
    made = np.empty_like(given)
    sim.launch(kernel, given, made)
    assert np.array_equal(given, made)
