"""How long the simulator takes: two tiles of products, and the tests that run in it.

    python -m benchmarks.simulator [--suite]

A tile is one launch of a kernel that was transcribed before: the fastest of several. With --suite
the tests follow, part by part: seconds of the processor, which do not depend on what else the
machine does, and of the clock.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hidet import sim
from hidet.lang import address, attr, f16, f32, register_tensor, script, shared_tensor, static
from hidet.lang.cuda import (
    fence_proxy_async,
    ldmatrix,
    mma_sync,
    syncthreads,
    threadIdx,
    wgmma,
    wgmma_commit_group,
    wgmma_descriptor,
    wgmma_fence,
    wgmma_layout,
    wgmma_wait_group,
)
from hidet.mapping.fragments import wgmma_c

ROOT = Path(__file__).parents[1]
TESTS = "packages/hidet-core/tests"
PARTS = {
    "the simulator itself": ("sim",),
    "intrinsics and the language": ("intrinsics", "lang/cuda"),
    "kernels that a GPU runs, too": ("gpu",),
    "the automatic schedule": ("schedules/automatic/test_every_operator.py",),
    "schedules for CUDA": ("schedules/cuda",),
    "odd sizes": ("schedules/test_odd_sizes.py",),
}
REPEATS = 5


@script
def by_warps(a: f16[128, 64], b: f16[64, 128], c: f32[128, 128]):
    """128 x 128 x 64 by four warps: ldmatrix from padded tiles, mma.sync m16n8k16."""
    attr.cuda_block_dim = 128
    left, right = shared_tensor(f16, (128, 72)), shared_tensor(f16, (64, 136))
    part, other = register_tensor(f16, (4, 8)), register_tensor(f16, (8, 4))
    sums = register_tensor(f32, (4, 8, 4), init=0)
    warp, lane = threadIdx.x // 32, threadIdx.x % 32
    top, first = warp // 2 * 64, warp % 2 * 64
    for i in range(64):
        left[i * 2 + threadIdx.x // 64, threadIdx.x % 64] = a[
            i * 2 + threadIdx.x // 64, threadIdx.x % 64
        ]
        right[i, threadIdx.x] = b[i, threadIdx.x]
    syncthreads()
    for k in range(4):
        for i in range(4):
            row = top + i * 16 + lane % 16
            ldmatrix(~part[i, 0], address(left, row, k * 16 + lane // 16 * 8), 4)
        for j in range(8):
            row = k * 16 + lane % 16
            ldmatrix(~other[j, 0], address(right, row, first + j * 8), 2, transposed=True)
        for i in range(4):
            for j in range(8):
                mma_sync(~part[i, 0], ~other[j, 0], ~sums[i, j, 0], "m16n8k16")
    for i in range(4):
        for j in range(8):
            for v in range(4):
                row = top + i * 16 + lane // 4 + v // 2 * 8
                c[row, first + j * 8 + lane % 4 * 2 + v % 2] = sums[i, j, v]


@script
def by_a_warpgroup(a: f16[64, 64], b: f16[128, 64], c: f32[64, 128]):
    """64 x 128 x 64 by a warpgroup: four wgmma m64n128k16."""
    attr.cuda_block_dim = 128
    left = shared_tensor(f16, (64, 64), wgmma_layout(f16, 64, 64))
    right = shared_tensor(f16, (128, 64), wgmma_layout(f16, 128, 64))
    sums, at = register_tensor(f32, 64, init=0), wgmma_c(128)
    for i in range(32):
        row, column = i * 2 + threadIdx.x // 64, threadIdx.x % 64
        left[row, column] = a[row, column]
        right[row, column] = b[row, column]
        right[row + 64, column] = b[row + 64, column]
    fence_proxy_async()
    syncthreads()
    first, second = wgmma_descriptor(~left[0, 0]), wgmma_descriptor(~right[0, 0])
    wgmma_fence(sums)
    for k in static(range(4)):
        wgmma(first.advance(32 * k), second.advance(32 * k), sums, "m64n128k16")
    wgmma_commit_group()
    wgmma_wait_group(0, sums)
    for v in static(range(64)):
        row, column = at.task(threadIdx.x, v)
        c[row, column] = sums[v]


def random(*shape: int) -> Any:
    """float16 numbers."""
    return np.random.default_rng(0).standard_normal(shape).astype(np.float16)


def fastest(kernel: Any, a: Any, b: Any, exact: Any) -> float:
    """Seconds of a launch; the result is compared."""
    c = np.zeros(exact.shape, np.float32)
    module = kernel.ir_module()
    taken = [seconds(lambda: sim.launch(module, a, b, c)) for _ in range(REPEATS)]
    np.testing.assert_allclose(c, exact, atol=1e-3)
    return min(taken)


def seconds(run: Callable[[], object]) -> float:
    """Seconds of the clock that something takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def suite() -> bool:
    """Run the tests; whether all passed."""
    passed = True
    for name, folders in PARTS.items():
        before = os.times()
        command = [sys.executable, "-m", "pytest", "-q", "-m", "not gpu"]
        paths = [f"{TESTS}/{folder}" for folder in folders]
        start = time.perf_counter()
        done = subprocess.run([*command, *paths], cwd=ROOT, capture_output=True, text=True)
        clock, after = time.perf_counter() - start, os.times()
        used = after.children_user - before.children_user
        used += after.children_system - before.children_system
        print(f"{name:<32}{used:8.1f} s of the processor {clock:8.1f} s of the clock", flush=True)
        if done.returncode:
            print(done.stdout[-2000:])
            passed = False
    return passed


def main(arguments: Sequence[str]) -> int:
    """Print the times; 1 if a test failed."""
    parser = argparse.ArgumentParser(prog="benchmarks.simulator")
    parser.add_argument("--suite", action="store_true", help="the tests, too")
    options = parser.parse_args(arguments)
    a, b = random(128, 64), random(64, 128)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    print(f"{'128 x 128 x 64 by mma.sync':<32}{fastest(by_warps, a, b, exact):8.3f} s")
    a, b = random(64, 64), random(128, 64)
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    print(
        f"{'64 x 128 x 64 by wgmma':<32}{fastest(by_a_warpgroup, a, b, exact):8.3f} s", flush=True
    )
    return 0 if not options.suite or suite() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
