"""wgmma: products read too early, operands not shown to them or taken away, warpgroups torn."""

import numpy as np

from catalogue.case import mistake
from hidet.lang import attr, f16, f32, register_tensor, script, shared_tensor, static
from hidet.lang.cuda import (
    fence_proxy_async,
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
from hidet.sim import DivergentBarrier, Misaligned, MissingFence, MissingWait

WAIT, FENCE = "missing wait on a wgmma", "missing proxy fence"
TORN = "collective executed by a diverged warp or with a wrong mask"
LAYOUT = wgmma_layout(f16, 64, 64)
AT = wgmma_c(16)


def small(*shape):
    """Numbers whose products and sums are exact."""
    return (np.arange(np.prod(shape)) * 7 % 5 - 2).reshape(shape).astype(np.float16)


def product(a, b):
    return a.astype(np.float32) @ b.astype(np.float32).T


A, B = small(64, 64), small(16, 64)


@script
def fill(a, b, left, right_side):
    """The operands to shared memory, by 128 threads."""
    for i in range(32):
        left[i * 2 + threadIdx.x // 64, threadIdx.x % 64] = a[
            i * 2 + threadIdx.x // 64, threadIdx.x % 64
        ]
    for i in range(8):
        right_side[i * 2 + threadIdx.x // 64, threadIdx.x % 64] = b[
            i * 2 + threadIdx.x // 64, threadIdx.x % 64
        ]


@mistake(WAIT, MissingWait, A, B, expected=product)
def sums_read_while_they_are_computed(right):
    @script
    def kernel(a: f16[64, 64], b: f16[16, 64], c: f32[64, 16]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 128
        left = shared_tensor("float16", [64, 64], LAYOUT)
        upper = shared_tensor("float16", [16, 64], wgmma_layout(f16, 16, 64))
        sums = register_tensor("float32", [8], 0)
        fill(a, b, left, upper)
        fence_proxy_async()
        syncthreads()
        first, second = wgmma_descriptor(~left[0, 0]), wgmma_descriptor(~upper[0, 0])
        wgmma_fence(sums)
        for k in static(range(4)):
            wgmma(first.advance(32 * k), second.advance(32 * k), sums, "m64n16k16")
        wgmma_commit_group()
        if right:
            wgmma_wait_group(0, sums)
        for v in static(range(8)):
            row, column = AT.task(threadIdx.x, v)
            c[row, column] = sums[v]  # wrong

    return kernel


@mistake(WAIT, MissingWait, A, B, expected=product)
def a_wait_that_leaves_the_last_group(right):
    @script
    def kernel(a: f16[64, 64], b: f16[16, 64], c: f32[64, 16]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 128
        left = shared_tensor("float16", [64, 64], LAYOUT)
        upper = shared_tensor("float16", [16, 64], wgmma_layout(f16, 16, 64))
        sums = register_tensor("float32", [8], 0)
        fill(a, b, left, upper)
        fence_proxy_async()
        syncthreads()
        first, second = wgmma_descriptor(~left[0, 0]), wgmma_descriptor(~upper[0, 0])
        wgmma_fence(sums)
        for k in static(range(4)):
            wgmma(first.advance(32 * k), second.advance(32 * k), sums, "m64n16k16")
            wgmma_commit_group()
        if right:
            wgmma_wait_group(0, sums)
        else:
            wgmma_wait_group(1, sums)
        for v in static(range(8)):
            row, column = AT.task(threadIdx.x, v)
            c[row, column] = sums[v]  # wrong

    return kernel


@mistake(WAIT, MissingWait, A, B, expected=lambda a, b: 2 * product(a, b))
def the_next_tile_stored_under_the_product(right):
    """Tensor cores read shared memory until the wait, not only when the product is issued."""

    @script
    def kernel(a: f16[64, 64], b: f16[16, 64], c: f32[64, 16]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 128
        left = shared_tensor("float16", [64, 64], LAYOUT)
        upper = shared_tensor("float16", [16, 64], wgmma_layout(f16, 16, 64))
        sums = register_tensor("float32", [8], 0)
        for _ in range(2):
            for i in range(32):
                row, column = i * 2 + threadIdx.x // 64, threadIdx.x % 64
                left[row, column] = a[row, column]  # wrong
            for i in range(8):
                row, column = i * 2 + threadIdx.x // 64, threadIdx.x % 64
                upper[row, column] = b[row, column]
            fence_proxy_async()
            syncthreads()
            first, second = wgmma_descriptor(~left[0, 0]), wgmma_descriptor(~upper[0, 0])
            wgmma_fence(sums)
            for k in static(range(4)):
                wgmma(first.advance(32 * k), second.advance(32 * k), sums, "m64n16k16")  # other
            wgmma_commit_group()
            if right:
                wgmma_wait_group(0, sums)
            syncthreads()
        wgmma_wait_group(0, sums)
        for v in static(range(8)):
            row, column = AT.task(threadIdx.x, v)
            c[row, column] = sums[v]

    return kernel


@mistake(FENCE, MissingFence, A, B, expected=product)
def operands_stored_without_a_proxy_fence(right):
    @script
    def kernel(a: f16[64, 64], b: f16[16, 64], c: f32[64, 16]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 128
        left = shared_tensor("float16", [64, 64], LAYOUT)
        upper = shared_tensor("float16", [16, 64], wgmma_layout(f16, 16, 64))
        sums = register_tensor("float32", [8], 0)
        fill(a, b, left, upper)
        if right:
            fence_proxy_async()
        syncthreads()
        first, second = wgmma_descriptor(~left[0, 0]), wgmma_descriptor(~upper[0, 0])
        wgmma_fence(sums)
        for k in static(range(4)):
            wgmma(first.advance(32 * k), second.advance(32 * k), sums, "m64n16k16")  # wrong
        wgmma_commit_group()
        wgmma_wait_group(0, sums)
        for v in static(range(8)):
            row, column = AT.task(threadIdx.x, v)
            c[row, column] = sums[v]

    return kernel


@mistake("missing fence before a wgmma", MissingFence, A, B, expected=product)
def sums_cleared_after_the_fence(right):
    """`wgmma_fence` orders what came before it, not what follows."""

    @script
    def kernel(a: f16[64, 64], b: f16[16, 64], c: f32[64, 16]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 128
        left = shared_tensor("float16", [64, 64], LAYOUT)
        upper = shared_tensor("float16", [16, 64], wgmma_layout(f16, 16, 64))
        sums = register_tensor("float32", [8])
        fill(a, b, left, upper)
        fence_proxy_async()
        syncthreads()
        first, second = wgmma_descriptor(~left[0, 0]), wgmma_descriptor(~upper[0, 0])
        if not right:
            wgmma_fence(sums)
        for v in static(range(8)):
            sums[v] = 0.0
        if right:
            wgmma_fence(sums)
        for k in static(range(4)):
            wgmma(first.advance(32 * k), second.advance(32 * k), sums, "m64n16k16")  # wrong
        wgmma_commit_group()
        wgmma_wait_group(0, sums)
        for v in static(range(8)):
            row, column = AT.task(threadIdx.x, v)
            c[row, column] = sums[v]

    return kernel


@mistake(TORN, DivergentBarrier, A, B, expected=product)
def a_product_by_part_of_a_warpgroup(right):
    """The branch was meant for the threads that hold rows in range: all of them take part."""
    rows = 128 if right else 96

    @script
    def kernel(a: f16[64, 64], b: f16[16, 64], c: f32[64, 16]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 128
        left = shared_tensor("float16", [64, 64], LAYOUT)
        upper = shared_tensor("float16", [16, 64], wgmma_layout(f16, 16, 64))
        sums = register_tensor("float32", [8], 0)
        fill(a, b, left, upper)
        fence_proxy_async()
        syncthreads()
        if threadIdx.x < rows:
            first, second = wgmma_descriptor(~left[0, 0]), wgmma_descriptor(~upper[0, 0])
            wgmma_fence(sums)  # wrong
            for k in static(range(4)):
                wgmma(first.advance(32 * k), second.advance(32 * k), sums, "m64n16k16")
            wgmma_commit_group()
            wgmma_wait_group(0, sums)
        for v in static(range(8)):
            row, column = AT.task(threadIdx.x, v)
            c[row, column] = sums[v]

    return kernel


@mistake(WAIT, MissingWait, A, B, expected=product, says="the kernel ends")
def a_product_too_many(right):
    """One more is begun for a next iteration that never comes, and the kernel ends under it."""

    @script
    def kernel(a: f16[64, 64], b: f16[16, 64], c: f32[64, 16]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 128
        left = shared_tensor("float16", [64, 64], LAYOUT)
        upper = shared_tensor("float16", [16, 64], wgmma_layout(f16, 16, 64))
        sums = register_tensor("float32", [8], 0)
        others = register_tensor("float32", [8], 0)
        fill(a, b, left, upper)
        fence_proxy_async()
        syncthreads()
        first, second = wgmma_descriptor(~left[0, 0]), wgmma_descriptor(~upper[0, 0])
        wgmma_fence(sums, others)
        for k in static(range(4)):
            wgmma(first.advance(32 * k), second.advance(32 * k), sums, "m64n16k16")
        wgmma_commit_group()
        wgmma(first, second, others, "m64n16k16")  # wrong
        wgmma_commit_group()
        wgmma_wait_group(1, sums)
        for v in static(range(8)):
            row, column = AT.task(threadIdx.x, v)
            c[row, column] = sums[v]
        if right:
            wgmma_wait_group(0, others)

    return kernel


@mistake("misaligned access", Misaligned, A, expected=lambda a: product(a, a[:16]))
def a_swizzle_in_an_array_of_an_odd_size(right):
    """The pattern of 128 bytes repeats every 1024, where an array of 8320 need not begin."""
    padding = 512 if right else 64

    @script
    def kernel(a: f16[64, 64], c: f32[64, 16]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 128
        room = shared_tensor("float16", [64 * 64 + padding])
        sums = register_tensor("float32", [8], 0)
        for i in range(32):
            row, column = i * 2 + threadIdx.x // 64, threadIdx.x % 64
            room[LAYOUT(row, column)] = a[row, column]
        fence_proxy_async()
        syncthreads()
        both = wgmma_descriptor(~room[0], 16, 1024, 128)  # wrong
        wgmma_fence(sums)
        for k in static(range(4)):
            wgmma(both.advance(32 * k), both.advance(32 * k), sums, "m64n16k16")
        wgmma_commit_group()
        wgmma_wait_group(0, sums)
        for v in static(range(8)):
            row, column = AT.task(threadIdx.x, v)
            c[row, column] = sums[v]

    return kernel
