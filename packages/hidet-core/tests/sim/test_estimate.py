"""Registers and shared memory that a block may have."""

from dataclasses import replace

import numpy as np
import pytest

from hidet.ir.kernel import single
from hidet.lang import attr, f16, f32, f64, register_tensor, script, shared_tensor, u8
from hidet.lang.cuda import blockIdx, dynamic_shared, syncthreads, threadIdx
from hidet.passes.pipeline import lower
from hidet.sim import ResourceOveruse, launch
from hidet.sim.estimate import FIXED, bound, estimate


def accumulators(count, threads, blocks=0, of=f32):
    @script
    def kernel(y: of[1]):
        attr.cuda_block_dim = threads
        attr.cuda_min_blocks = blocks
        sums = register_tensor(of, count, init=0)
        for i in range(count):
            sums[i] += of(i)
        if threadIdx.x == 0:
            y[0] = sums[count - 1]

    return kernel


@pytest.mark.parametrize(
    ("count", "threads", "blocks", "of", "fits"),
    [
        (128, 512, 0, f32, True),
        (129, 512, 0, f32, False),
        (256, 512, 0, f16, True),
        (65, 512, 0, f64, False),
        (128, 256, 2, f32, True),
        (129, 256, 2, f32, False),
        (255, 32, 0, f32, True),
        (256, 32, 0, f32, False),
    ],
)
def test_register_arrays_must_fit_the_launch_bound(count, threads, blocks, of, fits):
    kernel = accumulators(count, threads, blocks, of)
    for each in (kernel, lower(kernel.kernel)):
        if fits:
            launch(each, np.zeros(1, of.numpy))
            continue
        with pytest.raises(ResourceOveruse, match="registers of each thread") as caught:
            launch(each, np.zeros(1, of.numpy))
        assert caught.value.place.line == kernel.kernel.place.line + 3


def test_launch_bounds():
    assert bound(32, 1) == 255
    assert bound(1024, 1) == 64
    assert bound(384, 1) == 168
    assert bound(256, 2) == 128


def test_arrays_that_are_not_needed_at_once_share_registers():
    @script
    def kernel(y: f32[64]):
        attr.cuda_block_dim = 1024
        first = register_tensor(f32, 40, init=1)
        total = f32(0)
        for i in range(40):
            total += first[i]
        second = register_tensor(f32, 40, init=2)
        for i in range(40):
            total += second[i]
        if threadIdx.x < 64:
            y[threadIdx.x] = total

    y = np.zeros(64, np.float32)
    report = launch(kernel, y)
    assert (y == 120).all()
    assert 40 + FIXED < report.registers["kernel"] < 60 + FIXED


def test_what_a_loop_uses_is_needed_to_its_end():
    @script
    def kernel(y: f32[64]):
        attr.cuda_block_dim = 32
        kept = register_tensor(f32, 20, init=1)
        for i in range(3):
            y[i] = kept[i]
            made = register_tensor(f32, 30, init=1)
            y[i + 8] = made[i]

    assert estimate(kernel.kernel) >= 50 + FIXED


def shared(nbytes, dynamic=0):
    @script
    def kernel(y: u8[1]):
        attr.cuda_block_dim = 32
        attr.cuda_dynamic_smem_bytes = dynamic
        tile = shared_tensor(u8, nbytes)
        tile[threadIdx.x] = 1
        syncthreads()
        if dynamic:
            more = dynamic_shared()
            more[threadIdx.x] = 1
        if threadIdx.x + blockIdx.x == 0:
            y[0] = tile[5]

    return kernel


@pytest.mark.parametrize(
    ("nbytes", "dynamic", "fits"),
    [(232448, 0, True), (232449, 0, False), (1024, 231424, True), (2048, 231424, False)],
)
def test_shared_memory_of_a_block(nbytes, dynamic, fits):
    kernel = shared(nbytes, dynamic)
    y = np.zeros(1, np.uint8)
    if fits:
        report = launch(kernel, y)
        assert report.shared_bytes == nbytes + dynamic
        assert launch(lower(kernel.kernel), y).shared_bytes == nbytes + dynamic
        return
    with pytest.raises(ResourceOveruse, match="it may have at most 232448") as caught:
        launch(kernel, y)
    assert caught.value.place.line == kernel.kernel.place.line + 3


def test_dynamic_shared_memory_alone():
    @script
    def kernel(y: u8[1]):
        attr.cuda_block_dim = 1
        y[0] = 1

    # A script that asks for more than any GPU has is refused before: see test_mistakes.py.
    asking = replace(kernel.kernel, launch=replace(kernel.kernel.launch, shared_bytes=300_000))
    with pytest.raises(ResourceOveruse, match="300000 bytes of shared memory"):
        launch(single(asking), np.zeros(1, np.uint8))
