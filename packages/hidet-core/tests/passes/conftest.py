"""Kernels that many passes are tested on, and the comparison of their meaning."""

from collections.abc import Callable

import numpy as np
import pytest

from hidet.ir.check import check
from hidet.ir.expr import Builtin, Const, Get, Load, Var, wrap
from hidet.ir.kernel import Kernel, Launch
from hidet.ir.stmt import Declare, For, ForTasks, Invoke, LoopKind, Put, Store
from hidet.mapping import auto_map, repeat, spatial
from hidet.passes.base import run
from hidet.passes.launches.observers import Check
from hidet.passes.pipeline import passes_for
from hidet.sim import launch
from hidet.types import Scope, TensorType, f32, i32

THREAD = Builtin("threadIdx.x")
ACROSS, DOWN = Builtin("blockIdx.x"), Builtin("blockIdx.y")
LEFT_OVER = 7.25  # what outputs hold before a kernel runs: it must not matter, nor be touched


def grid(x=1, y=1, z=1, threads=1):
    return Launch((wrap(x), wrap(y), wrap(z)), (wrap(threads), wrap(1), wrap(1)))


def ceil_div(size, by):
    return (wrap(size) + (by - 1)) // by


def matmul(m, n, k, tile=16, depth=8, each=2) -> Kernel:
    """Shared tiles of a and b, sums in registers spread over the threads."""
    a, b, c = Var("a", f32[m, k]), Var("b", f32[k, n]), Var("c", f32[m, n])
    workers = (tile // each) ** 2
    mine = spatial(tile // each, tile // each) * repeat(each, each)
    copy_a = auto_map(tile, depth, workers=workers)
    copy_b = auto_map(depth, tile, workers=workers)
    tile_a = Var("tile_a", TensorType(f32, (tile, depth), Scope.SHARED))
    tile_b = Var("tile_b", TensorType(f32, (depth, tile), Scope.SHARED))
    sums = Var("sums", TensorType(f32, (tile, tile), Scope.REGISTER, mine))
    step, i, j, s = (Var(name, i32) for name in ("step", "i", "j", "s"))
    top, left = DOWN * tile, ACROSS * tile
    product = Load(sums, (i, j)) + Load(tile_a, (i, s)) * Load(tile_b, (s, j))
    iteration = (
        ForTasks(
            (i, s), copy_a, THREAD, (Store(tile_a, (i, s), Get(a, (top + i, step * depth + s))),)
        ),
        ForTasks(
            (s, j), copy_b, THREAD, (Store(tile_b, (s, j), Get(b, (step * depth + s, left + j))),)
        ),
        Invoke("syncthreads"),
        For(s, wrap(depth), (ForTasks((i, j), mine, THREAD, (Store(sums, (i, j), product),)),)),
        Invoke("syncthreads"),
    )
    put = Put(c, (top + i, left + j), Load(sums, (i, j)))
    body = (
        Declare(tile_a),
        Declare(tile_b),
        Declare(sums, Const(0.0, f32)),
        For(step, ceil_div(k, depth), iteration),
        ForTasks((i, j), mine, THREAD, (put,)),
    )
    size = grid(ceil_div(n, tile), ceil_div(m, tile), threads=workers)
    return Kernel("matmul", (a, b, c), body, launch=size)


def add_rows(rows, columns, lanes=4, of=f32, to=f32, threads=64) -> Kernel:
    """y[i, j] = x[i, j] + b[i], some lanes for each thread."""
    x, b, y = Var("x", of[rows, columns]), Var("b", f32[rows]), Var("y", to[rows, columns])
    i, j, v = Var("i", i32), Var("j", i32), Var("v", i32)
    number, groups = ACROSS * threads + THREAD, ceil_div(columns, lanes)
    value = Get(x, (i, j + v)).cast(f32) + Get(b, (i,))
    body = (
        Declare(i, number // groups),
        Declare(j, number % groups * lanes),
        For(v, wrap(lanes), (Put(y, (i, j + v), value.cast(to)),), LoopKind.VECTOR),
    )
    size = grid(ceil_div(wrap(rows) * groups, threads), threads=threads)
    return Kernel("add_rows", (x, b, y), body, launch=size)


def agree(kernel: Kernel, shapes, passes=None, seed=0, **sizes) -> Kernel:
    """Run a kernel before and after each pass; every stage gives the same bits. The last stage.

    `shapes` are those of the parameters; all hold random numbers, the last is the result.
    """
    check(kernel)
    generator = np.random.default_rng(seed)
    arrays = [
        generator.integers(-8, 8, shape).astype(p.of.dtype.numpy)
        for p, shape in zip(kernel.params, shapes, strict=True)
    ]
    arrays[-1][...] = LEFT_OVER
    expected = result(kernel, arrays, sizes)
    stages = []
    chosen = passes_for(kernel.kind) if passes is None else passes
    run(kernel, chosen, [Check(), lambda after, stage: stages.append((after, stage))])
    for after, stage in stages:
        found = result(stage, arrays, sizes)
        np.testing.assert_array_equal(found, expected, err_msg=f"after {after.name}:\n{stage}")
    return stages[-1][1]


def result(kernel, arrays, sizes):
    """What the last array holds after a run on copies."""
    copies = [array.copy() for array in arrays]
    launch(kernel, *copies, **sizes)
    return copies[-1]


class Kernels:
    """The kernels above, by name."""

    matmul = staticmethod(matmul)
    add_rows = staticmethod(add_rows)
    grid = staticmethod(grid)
    ceil_div = staticmethod(ceil_div)


@pytest.fixture(name="kernels")
def _kernels() -> type[Kernels]:
    return Kernels


@pytest.fixture(name="agree")
def _agree() -> Callable[..., Kernel]:
    return agree
