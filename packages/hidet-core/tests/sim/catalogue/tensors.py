"""TMA: boxes used before they have come, counted wrongly, or stored from memory still in use."""

from catalogue.case import mistake, ramp
from hidet.lang import attr, f32, script, shared_tensor
from hidet.lang.cuda import (
    blockIdx,
    cp_async_bulk_commit_group,
    cp_async_bulk_wait_group,
    fence_mbarrier_init,
    fence_proxy_async,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    syncthreads,
    tensor_map,
    threadIdx,
    tma_load,
    tma_reduce,
    tma_store,
)
from hidet.sim import Deadlock, Misaligned, MissingFence, MissingWait, OutOfBounds

PHASE, DEADLOCK = "missing wait on an mbarrier phase", "deadlock"
STORE, FENCE = "missing wait on a bulk store", "missing proxy fence"


@script
def begin(ready):
    """One barrier for one copy, seen by all threads and by the copy engine."""
    if threadIdx.x == 0:
        mbarrier_init(ready, 1)
        fence_mbarrier_init()
    syncthreads()


def twice(x):
    return x * 2


@mistake(PHASE, MissingWait, ramp(16, 32), expected=twice)
def a_box_read_before_it_has_come(right):
    @script
    def kernel(x: f32[16, 32], y: f32[16, 32]):
        attr.cuda_grid_dim = 2
        attr.cuda_block_dim = 32
        boxes = tensor_map(x, (8, 32))
        box = shared_tensor("float32", [8, 32])
        ready = shared_tensor("uint64", [1])
        begin(ready)
        if threadIdx.x == 0:
            mbarrier_arrive_expect_tx(ready, 8 * 32 * 4)
            tma_load(box, boxes, (blockIdx.x * 8, 0), ready)  # other
        if right:
            mbarrier_wait(ready, 0)
        for row in range(8):
            y[blockIdx.x * 8 + row, threadIdx.x] = box[row, threadIdx.x] * 2  # wrong

    return kernel


@mistake(DEADLOCK, Deadlock, ramp(21, 32), expected=twice, says="bytes")
def a_ragged_last_box(right):
    """Clipped boxes count whole: the bytes outside of the tensor arrive, too, as zeros."""

    @script
    def kernel(x: f32[21, 32], y: f32[21, 32]):
        attr.cuda_grid_dim = 3
        attr.cuda_block_dim = 32
        boxes = tensor_map(x, (8, 32))
        box = shared_tensor("float32", [8, 32])
        ready = shared_tensor("uint64", [1])
        begin(ready)
        rows = min(21 - blockIdx.x * 8, 8)
        if threadIdx.x == 0:
            if right:
                mbarrier_arrive_expect_tx(ready, 8 * 32 * 4)
            else:
                mbarrier_arrive_expect_tx(ready, rows * 32 * 4)
            tma_load(box, boxes, (blockIdx.x * 8, 0), ready)
        mbarrier_wait(ready, 0)  # wrong
        for row in range(rows):
            y[blockIdx.x * 8 + row, threadIdx.x] = box[row, threadIdx.x] * 2

    return kernel


@mistake("out-of-bounds access", OutOfBounds, ramp(16, 32), expected=twice)
def a_box_larger_than_its_buffer(right):
    @script
    def kernel(x: f32[16, 32], y: f32[16, 32]):
        attr.cuda_grid_dim = 2
        attr.cuda_block_dim = 32
        boxes = tensor_map(x, (8, 32))
        box = shared_tensor("float32", [8 if right else 7, 32])
        ready = shared_tensor("uint64", [1])
        begin(ready)
        if threadIdx.x == 0:
            mbarrier_arrive_expect_tx(ready, 8 * 32 * 4)
            tma_load(box, boxes, (blockIdx.x * 8, 0), ready)  # wrong
        mbarrier_wait(ready, 0)
        for row in range(7):
            y[blockIdx.x * 8 + row, threadIdx.x] = box[row, threadIdx.x] * 2
        if right:
            y[blockIdx.x * 8 + 7, threadIdx.x] = box[7, threadIdx.x] * 2

    return kernel


@mistake("misaligned access", Misaligned, ramp(2, 8, 8), expected=lambda x: x[0] + x[1])
def boxes_packed_too_close(right):
    """A box begins at a multiple of 128 bytes in shared memory."""
    apart = 64 if right else 72

    @script
    def kernel(x: f32[2, 8, 8], y: f32[8, 8]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 64
        boxes = tensor_map(x, (1, 8, 8))
        both = shared_tensor("float32", [136])
        ready = shared_tensor("uint64", [1])
        begin(ready)
        if threadIdx.x == 0:
            mbarrier_arrive_expect_tx(ready, 512)
            for part in range(2):
                tma_load(~both[part * apart], boxes, (part, 0, 0), ready)  # wrong
        mbarrier_wait(ready, 0)
        y[threadIdx.x // 8, threadIdx.x % 8] = both[threadIdx.x] + both[apart + threadIdx.x]

    return kernel


@mistake(STORE, MissingWait, ramp(24, 32), expected=twice)
def a_box_overwritten_before_it_was_stored(right):
    @script
    def kernel(x: f32[24, 32], y: f32[24, 32]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 32
        boxes = tensor_map(y, (8, 32))
        box = shared_tensor("float32", [8, 32])
        for part in range(3):
            for row in range(8):
                box[row, threadIdx.x] = x[part * 8 + row, threadIdx.x] * 2  # wrong
            fence_proxy_async("shared::cta")
            syncthreads()
            if threadIdx.x == 0:
                tma_store(boxes, (part * 8, 0), box)  # other
                cp_async_bulk_commit_group()
                if right:
                    cp_async_bulk_wait_group(0, read=True)
            syncthreads()

    return kernel


@mistake(FENCE, MissingFence, ramp(8, 32), expected=twice)
def a_box_stored_without_a_proxy_fence(right):
    @script
    def kernel(x: f32[8, 32], y: f32[8, 32]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 32
        boxes = tensor_map(y, (8, 32))
        box = shared_tensor("float32", [8, 32])
        for row in range(8):
            box[row, threadIdx.x] = x[row, threadIdx.x] * 2  # other
        if right:
            fence_proxy_async("shared::cta")
        syncthreads()
        if threadIdx.x == 0:
            tma_store(boxes, (0, 0), box)  # wrong
            cp_async_bulk_commit_group()
            cp_async_bulk_wait_group(0)

    return kernel


@mistake(FENCE, MissingFence, ramp(2, 8, 32), expected=lambda x: x[0] + x[1])
def a_buffer_filled_by_threads_and_then_by_a_copy(right):
    """What threads have written, a copy may overwrite only after a proxy fence."""

    @script
    def kernel(x: f32[2, 8, 32], y: f32[8, 32]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 32
        boxes = tensor_map(x, (1, 8, 32))
        box = shared_tensor("float32", [8, 32])
        ready = shared_tensor("uint64", [1])
        begin(ready)
        for row in range(8):
            box[row, threadIdx.x] = x[0, row, threadIdx.x]  # other
            y[row, threadIdx.x] = box[row, threadIdx.x]
        if right:
            fence_proxy_async("shared::cta")
        syncthreads()
        if threadIdx.x == 0:
            mbarrier_arrive_expect_tx(ready, 8 * 32 * 4)
            tma_load(box, boxes, (1, 0, 0), ready)  # wrong
        mbarrier_wait(ready, 0)
        for row in range(8):
            y[row, threadIdx.x] += box[row, threadIdx.x]

    return kernel


@mistake(STORE, MissingWait, ramp(4, 8, 32), expected=lambda x: x.sum(0), start=0)
def sums_read_before_they_are_added(right):
    """Reductions in flight: the group's sources were read, its results are not there yet."""

    @script
    def kernel(x: f32[4, 8, 32], y: f32[8, 32]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 32
        boxes = tensor_map(y, (8, 32))
        box = shared_tensor("float32", [8, 32])
        for part in range(3):
            for row in range(8):
                box[row, threadIdx.x] = x[part, row, threadIdx.x]
            fence_proxy_async("shared::cta")
            syncthreads()
            if threadIdx.x == 0:
                tma_reduce(boxes, (0, 0), box, "add")  # other
                cp_async_bulk_commit_group()
                if right:
                    cp_async_bulk_wait_group(0)
                else:
                    cp_async_bulk_wait_group(0, read=True)
            syncthreads()
        for row in range(8):
            y[row, threadIdx.x] += x[3, row, threadIdx.x]  # wrong

    return kernel


@mistake(PHASE, MissingWait, ramp(16, 32), expected=lambda x: x[8:] - 1)
def the_parity_of_the_first_box_again(right):
    """The second box comes in phase 1. A wait for parity 0 goes through before it has come, or,
    once it has come, would wait for a third one."""

    @script
    def kernel(x: f32[16, 32], y: f32[8, 32]):
        attr.cuda_grid_dim = 1
        attr.cuda_block_dim = 32
        boxes = tensor_map(x, (8, 32))
        box = shared_tensor("float32", [2, 8, 32])
        ready = shared_tensor("uint64", [1])
        begin(ready)
        for part in range(2):
            if threadIdx.x == 0:
                mbarrier_arrive_expect_tx(ready, 8 * 32 * 4)
                tma_load(~box[part, 0, 0], boxes, (part * 8, 0), ready)
            if right:
                mbarrier_wait(ready, part)
            else:
                mbarrier_wait(ready, 0)  # waited
        for row in range(8):
            y[row, threadIdx.x] = box[1, row, threadIdx.x] - 1  # wrong

    return kernel
