"""Kernels around the intrinsics that the catalogue of corrected mistakes does not use."""

import numpy as np

from hidet.lang import (
    address,
    asm,
    attr,
    f16,
    i32,
    register_tensor,
    script,
    shared_tensor,
    u32,
    u64,
)
from hidet.lang.cuda import (
    activemask,
    all_sync,
    any_sync,
    atomic_and,
    atomic_dec,
    atomic_inc,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_sub,
    atomic_xor,
    clock,
    clock32,
    clock64,
    cp_async_wait_all,
    fence,
    fence_mbarrier_init,
    globaltimer,
    laneid,
    load_acquire,
    load_global,
    load_relaxed,
    load_volatile,
    match_all_sync,
    match_any_sync,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    nanosleep,
    prefetch,
    reduce_sync,
    shfl_up_sync,
    stmatrix,
    store_async,
    store_global,
    store_relaxed,
    store_release,
    store_volatile,
    syncthreads,
    syncthreads_and,
    syncthreads_count,
    syncthreads_or,
    syncwarp,
    tensor_map,
    threadIdx,
    tma_load,
    tma_prefetch,
    tma_prefetch_map,
    trap,
    uni_sync,
)

ALL = 0xFFFFFFFF


@script
def block_votes(x: i32[64], y: i32[3, 64]):
    attr.cuda_block_dim = 64
    t = threadIdx.x
    y[0, t] = syncthreads_count(x[t] > 20)
    y[1, t] = syncthreads_and(x[t] >= 0)
    y[2, t] = syncthreads_or(x[t] > 99)


@script
def warp_votes(x: i32[64], y: u32[8, 64]):
    attr.cuda_block_dim = 64
    t = threadIdx.x
    y[0, t] = u32(shfl_up_sync(ALL, x[t], 3))
    y[1, t] = u32(any_sync(ALL, x[t] > 20))
    y[2, t] = u32(all_sync(ALL, x[t] >= 0))
    y[3, t] = u32(uni_sync(ALL, x[t] > 60))
    y[4, t] = match_any_sync(ALL, x[t] % 5)
    every, same = match_all_sync(ALL, x[t] // 64)
    y[5, t] = every + u32(same)
    y[6, t] = u32(reduce_sync(ALL, x[t], "add"))
    y[7, t] = activemask()


@script
def updated(x: i32[64], y: i32[8]):
    """In any order of the threads the same."""
    attr.cuda_block_dim = 64
    value = x[threadIdx.x]
    atomic_sub(~y[0], value)
    atomic_min(~y[1], value)
    atomic_max(~y[2], value)
    atomic_and(~y[3], value | 64)
    atomic_or(~y[4], value)
    atomic_xor(~y[5], value)


@script
def counted_round(y: u32[2]):
    attr.cuda_block_dim = 64
    atomic_inc(~y[0], 40)
    atomic_dec(~y[1], 40)


@script
def passed_on(x: i32[32], y: i32[4, 32], flag: i32[32]):
    """Loads and stores of every order, each of a thread's own elements."""
    attr.cuda_block_dim = 32
    t = threadIdx.x
    prefetch(~x[t])
    value = load_global(~x[t])
    store_global(~y[0, t], value + 1)
    store_relaxed(~flag[t], value)
    fence("acq_rel", "gpu")
    store_release(~flag[t], load_relaxed(~flag[t]) + 1)
    y[1, t] = load_acquire(~flag[t])
    store_volatile(~y[2, t], value)
    y[3, t] = load_volatile(~y[2, t])


@script
def timed(x: i32[32], y: i32[4, 32]):
    """Clocks do not go back; nobody traps."""
    attr.cuda_block_dim = 32
    started, old, short, time = clock(), clock64(), clock32(), globaltimer()
    nanosleep(100)
    if x[threadIdx.x] < 0:
        trap()
    breakpoint()
    y[0, threadIdx.x] = i32(clock() >= started)
    y[1, threadIdx.x] = i32(clock64() >= old)
    y[2, threadIdx.x] = i32(clock32() - short < 1 << 30)
    y[3, threadIdx.x] = i32(globaltimer() >= time)


@script
def stored_tiles(x: f16[32, 8], y: f16[32, 8]):
    attr.cuda_block_dim = 32
    tiles, part = shared_tensor(f16, (32, 8)), register_tensor(f16, 8)
    for v in range(8):
        part[v] = x[laneid, v]
    stmatrix(address(tiles, laneid, 0), part, 4)
    syncwarp()
    for v in range(8):
        y[laneid, v] = tiles[laneid, v]


@script
def prefetched(x: i32[16, 32], y: i32[8, 32]):
    attr.cuda_block_dim = 32
    boxes = tensor_map(x, (8, 32))
    box, ready = shared_tensor(i32, (8, 32)), shared_tensor(u64, 1)
    if threadIdx.x == 0:
        tma_prefetch_map(boxes)
        tma_prefetch(boxes, (8, 0))
        mbarrier_init(ready, 1)
        fence_mbarrier_init()
    syncthreads()
    if threadIdx.x == 0:
        mbarrier_arrive_expect_tx(ready, 8 * 32 * 4)
        tma_load(box, boxes, (8, 0), ready)
    mbarrier_wait(ready, 0)
    for row in range(8):
        y[row, threadIdx.x] = box[row, threadIdx.x]


@script
def written_out(x: u32[32], y: u32[32]):
    attr.cuda_block_dim = 32
    asm(
        "brev.b32 %0, %1;",
        outputs=[y[threadIdx.x]],
        inputs=[x[threadIdx.x]],
        simulate=lambda x: np.packbits(
            np.unpackbits(x.astype("<u4").view(np.uint8), bitorder="little").reshape(-1, 32), axis=1
        ).view(">u4")[:, 0],
    )


@script
def stored_beside(x: i32[32], y: i32[32]):
    attr.cuda_block_dim = 32
    tile, t = shared_tensor(i32, 32), threadIdx.x
    store_async(~tile[t], x[t] * 3)
    cp_async_wait_all()
    syncwarp()
    y[t] = tile[31 - t]


def numbers(*shape, of=np.int32):
    return (np.arange(np.prod(shape)) * 37 % 61).reshape(shape).astype(of)


EXAMPLES = [
    (block_votes, (numbers(64), numbers(3, 64))),
    (warp_votes, (numbers(64), numbers(8, 64, of=np.uint32))),
    (updated, (numbers(64), numbers(8) + 5)),
    (counted_round, (np.array([3, 7], np.uint32),)),
    (passed_on, (numbers(32), numbers(4, 32), numbers(32))),
    (timed, (numbers(32), numbers(4, 32))),
    (stored_tiles, (numbers(32, 8, of=np.float16), numbers(32, 8, of=np.float16))),
    (prefetched, (numbers(16, 32), numbers(8, 32))),
    (stored_beside, (numbers(32), numbers(32))),
    (written_out, (numbers(32, of=np.uint32), numbers(32, of=np.uint32))),
]
