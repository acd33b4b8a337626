"""Bulk stores: what they read must be visible to them, and stay as it is until they have read it.

Rows of x are doubled in one of two buffers, which a bulk store then copies to y.
"""

from catalogue.case import mistake, ramp
from hidet.lang import attr, f32, script, shared_tensor
from hidet.lang.cuda import (
    cp_async_bulk_commit_group,
    cp_async_bulk_store,
    cp_async_bulk_wait_group,
    fence_proxy_async,
    syncthreads,
    threadIdx,
)
from hidet.sim import MissingFence, MissingWait

WAIT, FENCE = "missing wait on a bulk store", "missing proxy fence"


def twice(x):
    return x * 2


@mistake(WAIT, MissingWait, ramp(6, 64), expected=twice)
def a_buffer_overwritten_before_it_was_stored(right):
    @script
    def kernel(x: f32[6, 64], y: f32[6, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        out = shared_tensor("float32", [2, 64])
        for i in range(6):
            s = i % 2
            if right and threadIdx.x == 0:
                cp_async_bulk_wait_group(1, read=True)
            syncthreads()
            out[s, threadIdx.x] = x[i, threadIdx.x] * 2  # wrong
            fence_proxy_async("shared::cta")
            syncthreads()
            if threadIdx.x == 0:
                cp_async_bulk_store(~y[i, 0], ~out[s, 0], 256)  # other
                cp_async_bulk_commit_group()
        if threadIdx.x == 0:
            cp_async_bulk_wait_group(0, read=True)

    return kernel


@mistake(WAIT, MissingWait, ramp(6, 64), expected=twice)
def two_stores_left_for_two_buffers(right):
    """With two stores unread there is no buffer to write to: one may be left."""

    @script
    def kernel(x: f32[6, 64], y: f32[6, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        out = shared_tensor("float32", [2, 64])
        for i in range(6):
            s = i % 2
            if threadIdx.x == 0:
                cp_async_bulk_wait_group(1 if right else 2, read=True)
            syncthreads()
            out[s, threadIdx.x] = x[i, threadIdx.x] * 2  # wrong
            fence_proxy_async("shared::cta")
            syncthreads()
            if threadIdx.x == 0:
                cp_async_bulk_store(~y[i, 0], ~out[s, 0], 256)  # other
                cp_async_bulk_commit_group()
        if threadIdx.x == 0:
            cp_async_bulk_wait_group(0, read=True)

    return kernel


@mistake(WAIT, MissingWait, ramp(6, 64), expected=twice)
def another_thread_waits(right):
    """Groups are each thread's own: one that stored nothing waits for nothing."""

    @script
    def kernel(x: f32[6, 64], y: f32[6, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        out = shared_tensor("float32", [2, 64])
        for i in range(6):
            s = i % 2
            if threadIdx.x == (0 if right else 32):
                cp_async_bulk_wait_group(1, read=True)
            syncthreads()
            out[s, threadIdx.x] = x[i, threadIdx.x] * 2  # wrong
            fence_proxy_async("shared::cta")
            syncthreads()
            if threadIdx.x == 0:
                cp_async_bulk_store(~y[i, 0], ~out[s, 0], 256)  # other
                cp_async_bulk_commit_group()
        if threadIdx.x == 0:
            cp_async_bulk_wait_group(0, read=True)

    return kernel


@mistake(WAIT, MissingWait, ramp(6, 64), expected=twice)
def a_store_in_no_group(right):
    @script
    def kernel(x: f32[6, 64], y: f32[6, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        out = shared_tensor("float32", [64])
        for i in range(6):
            out[threadIdx.x] = x[i, threadIdx.x] * 2  # wrong
            fence_proxy_async("shared::cta")
            syncthreads()
            if threadIdx.x == 0:
                cp_async_bulk_store(~y[i, 0], ~out[0], 256)  # other
                if right:
                    cp_async_bulk_commit_group()
                cp_async_bulk_wait_group(0, read=True)
            syncthreads()

    return kernel


@mistake(WAIT, MissingWait, ramp(64), expected=lambda x: x * 2 + 1)
def read_is_not_written(right):
    """`read=True` gives the buffer back; the bytes may still be on their way to y."""

    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        out = shared_tensor("float32", [64])
        out[threadIdx.x] = x[threadIdx.x] * 2
        fence_proxy_async("shared::cta")
        syncthreads()
        if threadIdx.x == 0:
            cp_async_bulk_store(y, out, 256)  # other
            cp_async_bulk_commit_group()
            if right:
                cp_async_bulk_wait_group(0)
            else:
                cp_async_bulk_wait_group(0, read=True)
        syncthreads()
        y[threadIdx.x] += 1  # wrong

    return kernel


@mistake(WAIT, MissingWait, ramp(6, 64), expected=twice)
def the_wait_is_not_passed_on(right):
    """One thread knows that the buffer is free; the others write to it without asking."""

    @script
    def kernel(x: f32[6, 64], y: f32[6, 64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        out = shared_tensor("float32", [2, 64])
        for i in range(6):
            s = i % 2
            if threadIdx.x == 0:
                cp_async_bulk_wait_group(1, read=True)
            if right:
                syncthreads()
            out[s, threadIdx.x] = x[i, threadIdx.x] * 2  # wrong
            fence_proxy_async("shared::cta")
            syncthreads()
            if threadIdx.x == 0:
                cp_async_bulk_store(~y[i, 0], ~out[s, 0], 256)  # other
                cp_async_bulk_commit_group()
        if threadIdx.x == 0:
            cp_async_bulk_wait_group(0, read=True)

    return kernel


@mistake(FENCE, MissingFence, ramp(64), expected=twice)
def a_barrier_is_no_proxy_fence(right):
    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        out = shared_tensor("float32", [64])
        out[threadIdx.x] = x[threadIdx.x] * 2  # other
        if right:
            fence_proxy_async("shared::cta")
        syncthreads()
        if threadIdx.x == 0:
            cp_async_bulk_store(y, out, 256)  # wrong
            cp_async_bulk_commit_group()
            cp_async_bulk_wait_group(0)

    return kernel


@mistake(FENCE, MissingFence, ramp(64), expected=twice)
def only_the_issuer_fences(right):
    """A fence before the barrier is for what the thread itself wrote."""

    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        out = shared_tensor("float32", [64])
        out[threadIdx.x] = x[threadIdx.x] * 2  # other
        if right:
            fence_proxy_async("shared::cta")
        else:
            if threadIdx.x == 0:
                fence_proxy_async("shared::cta")
        syncthreads()
        if threadIdx.x == 0:
            cp_async_bulk_store(y, out, 256)  # wrong
            cp_async_bulk_commit_group()
            cp_async_bulk_wait_group(0)

    return kernel


@mistake(FENCE, MissingFence, ramp(64), expected=twice)
def a_fence_before_the_last_change(right):
    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        out = shared_tensor("float32", [64])
        out[threadIdx.x] = x[threadIdx.x]
        if not right:
            fence_proxy_async("shared::cta")
        out[threadIdx.x] *= 2  # other
        if right:
            fence_proxy_async("shared::cta")
        syncthreads()
        if threadIdx.x == 0:
            cp_async_bulk_store(y, out, 256)  # wrong
            cp_async_bulk_commit_group()
            cp_async_bulk_wait_group(0)

    return kernel


@mistake(FENCE, MissingFence, ramp(64), expected=twice)
def a_fence_for_other_memory(right):
    @script
    def kernel(x: f32[64], y: f32[64]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        out = shared_tensor("float32", [64])
        out[threadIdx.x] = x[threadIdx.x] * 2  # other
        fence_proxy_async("shared::cta" if right else "global")
        syncthreads()
        if threadIdx.x == 0:
            cp_async_bulk_store(y, out, 256)  # wrong
            cp_async_bulk_commit_group()
            cp_async_bulk_wait_group(0)

    return kernel
