"""Sizes become the last parameters."""

import pytest

from hidet.errors import BadKernel
from hidet.ir.expr import Builtin, Var, wrap
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import For, Store
from hidet.passes.addresses.flatten_indices import flatten_indices
from hidet.passes.launches.launch_configuration import launch_configuration
from hidet.types import f32, i32

m, n = Var("m", i32), Var("n", i32)
x = Var("x", f32[m, n])
i = Var("i", i32)
BLOCK = Builtin("blockIdx.x")
BODY = (For(i, n, (Store(x, (BLOCK, i), wrap(0.0)),)),)


def test_symbols_of_the_body_then_of_the_launch(kernels):
    size = kernels.grid((m * 4 + 0) // 4, threads=1)
    found = launch_configuration(flatten_indices(Kernel("k", (x,), BODY, launch=size)))
    assert str(found).splitlines()[:2] == [
        "cuda kernel k(x: ~f32, n: i32, m: i32):",
        "  # grid (m, 1, 1), block (1, 1, 1)",
    ]


def test_parameters_of_the_user_stay_where_they_are(kernels):
    found = launch_configuration(Kernel("k", (n, x), BODY, launch=kernels.grid(m)))
    assert [str(p) for p in found.params] == ["n", "x", "m"]


def test_symbols_no_longer_used_are_no_parameters():
    assert len(launch_configuration(Kernel("k", (Var("q", ~f32),), ())).params) == 1


def test_only_integers_can_be_sizes():
    kernel = Kernel("k", (x,), (Store(x, (wrap(0), wrap(0)), Var("z", f32)),))
    with pytest.raises(BadKernel, match="`z`, which nothing declares"):
        launch_configuration(kernel)


def test_same_meaning(kernels, agree):
    kernel = Kernel("k", (x,), BODY, launch=kernels.grid(m))
    agree(kernel, [(3, 5)], [flatten_indices, launch_configuration], m=3, n=5)
