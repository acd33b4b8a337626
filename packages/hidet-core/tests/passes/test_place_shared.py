"""Large shared arrays share one dynamic allocation."""

import runpy
from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest

from hidet.errors import BadKernel
from hidet.ir.expr import Address, Builtin, Load, Var, wrap
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Declare, For, Invoke, Store
from hidet.passes.addresses.flatten_indices import flatten_indices
from hidet.passes.addresses.place_shared import place_shared
from hidet.sim import launch
from hidet.types import PointerType, Scope, TensorType, f16, f32, i32

THREAD = Builtin("threadIdx.x")
x = Var("x", f32[32])
BARRIER = Invoke("syncthreads")


def shared(name, count, of=f32):
    return Var(name, TensorType(of, (count,), Scope.SHARED))


def use(var, value=1.0):
    """Write an array and read it back after a barrier."""
    put = Store(var, (THREAD,), wrap(value).cast(var.dtype))
    get = Store(x, (THREAD,), Load(x, (THREAD,)) + Load(var, (31 - THREAD,)).cast(f32))
    return (put, BARRIER, get)


def kernel(kernels, *body):
    return Kernel("k", (x,), body, launch=kernels.grid(threads=32))


def test_small_arrays_stay_static(kernels):
    s = shared("s", 12288)
    small = kernel(kernels, Declare(s), *use(s))
    assert place_shared(small) is small


def test_arrays_in_use_together_lie_side_by_side(kernels):
    a, b = shared("a", 8192), shared("b", 9000, f16)
    found = place_shared(kernel(kernels, Declare(a), Declare(b), *use(a), *use(b)))
    assert found.launch.shared_bytes == 8192 * 4 + 9000 * 2
    assert str(found).splitlines()[2:5] == [
        "  shared: u8[50768] shared",
        "  a: ~f32 = bits(&shared[0], ~f32)",
        "  b: ~f16 = bits(&shared[32768], ~f16)",
    ]


def test_arrays_on_different_sides_of_a_barrier_overlap(kernels):
    a, b = shared("a", 12000), shared("b", 12000)
    found = place_shared(kernel(kernels, Declare(a), Declare(b), *use(a), BARRIER, *use(b)))
    assert found.launch.shared_bytes == 48000
    assert "b: ~f32 = bits(&shared[0], ~f32)" in str(found)


def test_a_loop_keeps_arrays_alive(kernels):
    a, b = shared("a", 12000), shared("b", 12000)
    loop = For(Var("i", i32), wrap(2), (*use(a), BARRIER, *use(b), BARRIER))
    found = place_shared(kernel(kernels, Declare(a), Declare(b), loop))
    assert found.launch.shared_bytes > 96000


@pytest.mark.parametrize("kind", ["asynchronous", "pointer"])
def test_what_cannot_be_followed_keeps_arrays_apart(kernels, kind):
    a, b = shared("a", 12000), shared("b", 12000)
    address = Address(a, (wrap(0),))
    taken = {
        "asynchronous": Invoke("cp_async_wait"),
        "pointer": Declare(Var("q", PointerType(f32)), address),
    }[kind]
    found = place_shared(kernel(kernels, Declare(a), Declare(b), taken, *use(a), BARRIER, *use(b)))
    assert found.launch.shared_bytes > 96000


def test_dynamic_memory_of_its_own_is_refused(kernels):
    s = shared("s", 20000)
    own = kernel(kernels, Declare(s), *use(s))
    with pytest.raises(BadKernel, match="dynamic shared memory"):
        place_shared(replace(own, launch=replace(own.launch, shared_bytes=16)))


def test_sizes_are_constant(kernels):
    s = shared("s", Var("n", i32))
    with pytest.raises(BadKernel, match="no constant size"):
        place_shared(kernel(kernels, Declare(s)))


@pytest.mark.parametrize("count", [6000, 12000])
def test_same_meaning(kernels, agree, count):
    a, b, c = shared("a", count), shared("b", count, f16), shared("c", count)
    body = (Declare(a), Declare(b), Declare(c), *use(a), BARRIER, *use(b, 2.0), BARRIER, *use(c))
    last = agree(kernel(kernels, *body), [(32,)], [flatten_indices, place_shared])
    assert last.launch.shared_bytes < 48000 + 24000 + 48000


ROLES = """
    @script
    def kernel(x: f32[8192], y: f32[8192], z: f32[8192]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 96
        a = shared_tensor("float32", [8192])
        b = shared_tensor("float32", [8192])
        t = threadIdx.x
        if t < 32:
            for i in range(256):
                a[i * 32 + t] = x[i * 32 + t]
            syncwarp()
            for i in range(256):
                y[i * 32 + t] = a[i * 32 + 31 - t]
        elif t < 64:
            for i in range(256):
                b[i * 32 + t - 32] = x[i * 32 + t - 32]
            syncwarp()
            for i in range(256):
                z[i * 32 + t - 32] = b[i * 32 + 63 - t]
        syncthreads()
        LAST
"""


@pytest.mark.parametrize("last", ["pass", "y[t] = a[t]"])
def test_roles_of_warps_share_no_memory(last, tmp_path):
    """What one role has finished with, in the order of the text, another one still uses."""
    head = "from hidet.lang import *\nfrom hidet.lang.cuda import *\n"
    path = tmp_path / "roles.py"
    path.write_text(head + dedent(ROLES).replace("LAST", last))
    kernel = runpy.run_path(str(path))["kernel"].kernel
    placed = place_shared(flatten_indices(kernel))
    assert placed.launch.shared_bytes == 2 * 8192 * 4
    text = str(placed)
    assert "a: ~f32 = bits(&shared[0], ~f32)" in text
    assert "b: ~f32 = bits(&shared[32768], ~f32)" in text
    x = np.arange(8192, dtype=np.float32)
    y, z = np.zeros_like(x), np.zeros_like(x)
    launch(placed, x, y, z)
    turned = x.reshape(-1, 32)[:, ::-1].reshape(-1)
    np.testing.assert_array_equal(z, turned)
    np.testing.assert_array_equal(y[96:], turned[96:])
