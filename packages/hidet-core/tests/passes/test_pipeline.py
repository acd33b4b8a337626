"""All passes in order, on whole kernels."""

import time

import numpy as np
import pytest

from hidet.ir.expr import Get, Var, wrap
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import For, ForTasks, LoopKind, Put
from hidet.ir.walk import find
from hidet.passes.pipeline import CPU, CUDA, lower, passes_for
from hidet.sim import launch
from hidet.types import f16, f32, i32

SIZES = {name: Var(name, i32) for name in "mnk"}
M, N, K = SIZES.values()


def test_every_kind_has_its_passes():
    assert passes_for(KernelKind.CUDA) is CUDA
    assert passes_for(KernelKind.CPU) is CPU
    assert all(each.__doc__ for each in (*CUDA, *CPU))


@pytest.mark.parametrize(
    ("sizes", "given"),
    [((16, 16, 8), {}), ((20, 17, 9), {}), ((M, N, K), {"m": 20, "n": 17, "k": 9})],
)
def test_matmul_keeps_its_meaning_at_every_stage(kernels, agree, sizes, given):
    m, n, k = (given.get(str(s), s) for s in sizes)
    agree(kernels.matmul(*sizes), [(m, k), (k, n), (m, n)], **given)


def test_matmul_is_right(kernels):
    generator = np.random.default_rng(0)
    a = generator.integers(-4, 4, (20, 9)).astype(np.float32)
    b = generator.integers(-4, 4, (9, 17)).astype(np.float32)
    c = np.zeros((20, 17), np.float32)
    launch(lower(kernels.matmul(M, N, K)), a, b, c, m=20, n=17, k=9)
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize("columns", [32, 36, 30, 7])
@pytest.mark.parametrize(("lanes", "of", "to"), [(4, f32, f32), (8, f16, f32), (8, f16, f16)])
def test_rows_keep_their_meaning_at_every_stage(kernels, agree, columns, lanes, of, to):
    shapes = [(5, columns), (5,), (5, columns)]
    agree(kernels.add_rows(5, columns, lanes, of, to), shapes)
    agree(kernels.add_rows(M, columns, lanes, of, to), shapes, m=5)


def test_rows_of_unknown_length(kernels, agree):
    agree(kernels.add_rows(M, N, 4), [(3, 10), (3,), (3, 10)], m=3, n=10)


def test_a_cpu_kernel(agree):
    x, y = Var("x", f32[M, 6]), Var("y", f32[M, 6])
    i, j = Var("i", i32), Var("j", i32)
    inner = For(j, wrap(8), (Put(y, (i, j), Get(x, (i, j)) * 2.0),), LoopKind.VECTOR)
    kernel = Kernel("twice", (x, y), (For(i, M, (inner,), LoopKind.PARALLEL),), KernelKind.CPU)
    last = agree(kernel, [(5, 6), (5, 6)], m=5)
    assert [loop.kind for loop in find(last.body, For)] == [LoopKind.VECTOR, LoopKind.PARALLEL]


def test_lowering_is_deterministic(kernels):
    assert str(lower(kernels.matmul(M, N, K))) == str(lower(kernels.matmul(M, N, K)))


def test_lowered_kernels_are_flat_and_plain(kernels):
    lowered = lower(kernels.matmul(M, N, K))
    assert not any(find(lowered.body, ForTasks))
    assert {loop.kind for loop in find(lowered.body, For)} == {LoopKind.SERIAL}
    assert [str(p) for p in lowered.params[:3]] == ["a", "b", "c"]
    assert {str(p) for p in lowered.params[3:]} == {"m", "n", "k"}


def test_large_kernels_lower_fast(kernels):
    kernel = kernels.matmul(M, N, K, tile=64, each=4)
    start = time.process_time()
    lower(kernel)
    assert time.process_time() - start < 3
