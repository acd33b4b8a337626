"""Loops over a mapping's tasks, and register tensors spread by one."""

import numpy as np
import pytest

from hidet.ir.expr import Builtin, Const, Load, Var
from hidet.ir.kernel import ONE, Kernel, KernelKind, Launch
from hidet.ir.stmt import Break, Declare, ForTasks, If, Store
from hidet.mapping import predicated, project, repeat, row_major, spatial
from hidet.sim import OutOfBounds, launch
from hidet.types import Scope, TensorType, f32, i32

TX = Builtin("threadIdx.x")
X, Y, ROW, COLUMN = Var("x", f32[8, 32]), Var("y", f32[8, 32]), Var("i", i32), Var("j", i32)
AT = ROW, COLUMN
TILE = spatial(4, 8) * repeat(2, 4)


def run(*body, threads=32):
    sizes = (ONE, ONE, ONE), (Const(threads, i32), ONE, ONE)
    x = np.arange(256, dtype=np.float32).reshape(8, 32)
    y = np.full((8, 32), -1, np.float32)
    launch(Kernel("tasks", (X, Y), tuple(body), KernelKind.CUDA, Launch(*sizes)), x, y)
    return x, y


def tasks(mapping, *body):
    return ForTasks(AT, mapping, TX, tuple(body))


@pytest.mark.parametrize("mapping", [TILE, repeat(2, 1) * spatial(4, 8) * repeat(1, 4)], ids=str)
def test_every_task_is_done(mapping):
    x, y = run(tasks(mapping, Store(Y, AT, Load(X, AT))))
    np.testing.assert_array_equal(x, y)


def test_predicated_workers_and_tasks():
    some = predicated(TILE, workers=64, shape=(7, 30))
    x, y = run(tasks(some, Store(Y, AT, Load(X, AT))), threads=64)
    np.testing.assert_array_equal(y[:7, :30], x[:7, :30])
    assert (y[7:] == -1).all()
    assert (y[:, 30:] == -1).all()


def test_break_leaves_all_tasks_of_a_worker():
    _, y = run(tasks(TILE, Store(Y, AT, Load(X, AT)), If((ROW % 2).eq(1), (Break(),))))
    assert np.count_nonzero(y == -1) == 32 * 3


def test_registers_of_the_owner():
    own = Var("own", TensorType(f32, (8, 32), Scope.REGISTER, TILE))
    fill = tasks(TILE, Store(own, AT, Load(X, AT)))
    x, y = run(Declare(own), fill, tasks(TILE, Store(Y, AT, Load(own, AT) + 1.0)))
    np.testing.assert_array_equal(y, x + 1)
    with pytest.raises(OutOfBounds, match="another thread's registers"):
        run(Declare(own), fill, tasks(TILE, Store(Y, AT, Load(own, (7 - ROW, COLUMN)))))


def test_projected_registers_are_shared_by_workers():
    rows = project(TILE, {1: 0})
    own = Var("own", TensorType(f32, (8, 1), Scope.REGISTER, rows))
    column = Const(3, i32)
    fill = tasks(rows, Store(own, AT, Load(X, (ROW, column))))
    copy = tasks(TILE, Store(Y, AT, Load(own, (ROW, Const(0, i32)))))
    x, y = run(Declare(own), fill, copy)
    np.testing.assert_array_equal(y, np.repeat(x[:, 3:4], 32, axis=1))


def test_layouts_of_the_mapping_in_shared_memory():
    tile = Var("tile", TensorType(f32, (8, 32), Scope.SHARED, row_major(8, 32)))
    fill = tasks(TILE, Store(tile, AT, Load(X, AT)))
    x, y = run(Declare(tile), fill, tasks(TILE, Store(Y, AT, Load(tile, AT))))
    np.testing.assert_array_equal(x, y)
