"""Intrinsics in scripts: results are values, effects are statements in the order of evaluation."""

from textwrap import dedent

import numpy as np
import pytest

import hidet.lang.cuda
from hidet.errors import BadKernel, BadScript
from hidet.intrinsics import INTRINSICS
from hidet.lang import attr, f16, f32, i32, register_tensor, script, shared_tensor, static
from hidet.lang.cuda import (
    atomic_add,
    atomic_cas,
    ballot_sync,
    barrier_sync,
    blockIdx,
    clock,
    cp_async,
    cp_async_commit_group,
    cp_async_wait_group,
    laneid,
    ldmatrix,
    mma_sync,
    shfl_xor_sync,
    syncthreads,
    threadIdx,
)
from hidet.sim import launch


def body(function) -> str:
    return dedent("\n".join(str(function.kernel).splitlines()[2:]))


def warp_sum(x):
    """A Python function, run while transcribing: it may write statements too."""
    for step in (16, 8):
        x = x + shfl_xor_sync(0xFFFFFFFF, x, step)
    return x


def test_results_are_values():
    @script
    def kernel(a: f32[32]):
        attr.cuda_block_dim = 32
        x = warp_sum(a[laneid])
        if ballot_sync(0xFFFFFFFF, x > 0) != 0:
            a[laneid] = x

    assert body(kernel) == dedent("""\
        x: f32
        x = shfl_xor_sync(4294967295:u32, a[laneid], 16) (32,)
        x_1: f32
        x_1 = shfl_xor_sync(4294967295:u32, (a[laneid] + x), 8) (32,)
        x_2: f32 = ((a[laneid] + x) + x_1)
        value: u32
        value = ballot_sync(4294967295:u32, (0.0 < x_2))
        if (value != 0:u32):
          a[laneid] = x_2""")


def test_what_is_evaluated_before_an_effect_is_read_before_it():
    @script
    def kernel(a: i32[8]):
        attr.cuda_block_dim = 32
        x = a[0] + atomic_add(~a[0], 1) * a[0]
        a[x] += atomic_cas(~a[1], x, 2)

    assert body(kernel) == dedent("""\
        earlier: i32 = a[0]
        x: i32
        x = atomic_add(&a[0], 1)
        x_1: i32 = (earlier + (x * a[0]))
        earlier_1: i32 = a[x_1]
        value: i32
        value = atomic_cas(&a[1], x_1, 2)
        a[x_1] = (earlier_1 + value)""")


def test_an_effect_in_the_condition_of_a_loop_happens_in_each_iteration():
    @script
    def kernel(a: i32[8]):
        attr.cuda_block_dim = 32
        while atomic_add(~a[0], 1) < 5:
            a[1] = 0

    assert body(kernel) == dedent("""\
        while True:
          value: i32
          value = atomic_add(&a[0], 1)
          if (not (value < 5)):
            break
          a[1] = 0""")


def test_fragments_are_addresses():
    @script
    def kernel(a: f16[16, 16]):
        attr.cuda_block_dim = 32
        tile = shared_tensor(f16, (16, 16))
        left = register_tensor(f16, 8)
        right = register_tensor(f16, (2, 4))
        sums = register_tensor(f32, 4, init=0)
        cp_async(~tile[threadIdx.x, 0], ~a[threadIdx.x, 0], 16, 8)
        cp_async_commit_group()
        cp_async_wait_group(0)
        syncthreads()
        ldmatrix(left, ~tile[laneid % 16, laneid // 16 * 8])
        mma_sync(left, ~right[1, 0], sums)
        barrier_sync(1, 64)
        started = clock()  # noqa: F841

    assert body(kernel) == dedent("""\
        tile: f16[16, 16] shared
        left: f16[8] register
        right: f16[2, 4] register
        sums: f32[4] register = 0.0
        cp_async(&tile[threadIdx.x, 0], &a[threadIdx.x, 0], 8) (16,)
        cp_async_commit_group()
        cp_async_wait_group() (0,)
        syncthreads()
        ldmatrix(&left[0], &tile[(laneid % 16), ((laneid // 16) * 8)]) (4, False)
        mma_sync(&left[0], &right[1, 0], &sums[0]) ('m16n8k16',)
        barrier_sync() (1, 64)
        started: i64
        started = clock()""")


def test_an_atomic_takes_an_address():
    def kernel(a: f32[8]):
        attr.cuda_block_dim = 32
        atomic_add(a[0], 1)

    with pytest.raises(BadScript, match="takes the address of an element") as caught:
        script(kernel)
    assert caught.value.help == "write `~a[i, j]`"


def test_outside_of_a_script():
    with pytest.raises(BadScript, match="only possible inside"):
        syncthreads()


def test_every_intrinsic_has_its_function():
    found = {name for name in dir(hidet.lang.cuda) if name in INTRINSICS}
    assert found == set(INTRINSICS)
    assert all(getattr(hidet.lang.cuda, name).__doc__ for name in found)


def test_a_warp_sums_in_the_simulator():
    @script
    def kernel(a: f32[64], total: f32[1]):
        attr.cuda_grid_dim = 2
        attr.cuda_block_dim = 32
        x = a[blockIdx.x * 32 + threadIdx.x]
        for step in static((16, 8, 4, 2, 1)):
            x += shfl_xor_sync(0xFFFFFFFF, x, step)
        if laneid == 0:
            atomic_add(~total[0], x)

    a, total = np.arange(64, dtype=np.float32), np.zeros(1, np.float32)
    launch(kernel.ir_module(), a, total)
    assert total[0] == a.sum()


def test_an_intrinsic_that_refuses_its_operands_says_where():
    def kernel(a: f32[8]):
        attr.cuda_block_dim = 32
        barrier_sync(0, 64)

    with pytest.raises(BadKernel, match="a named barrier has a number from 1 to 15") as caught:
        script(kernel)
    place = caught.value.place
    assert place.line == kernel.__code__.co_firstlineno + 2
    assert (place.column, place.end_column) == (8, 27)
