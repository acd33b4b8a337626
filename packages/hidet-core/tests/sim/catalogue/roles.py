"""A persistent matmul with three roles, and what goes wrong in one.

c = a · bᵀ in tiles of 128 x 64. A producer loads tiles of a and b by TMA into a ring of four
stages; two warpgroups multiply, each 64 rows; a thread of each stores its half by TMA from a buffer
that the next tile is written to. `wrong` names the mistake that is made of it.
"""

import numpy as np

from catalogue.case import mistake
from hidet.ir.expr import Var
from hidet.lang import (
    attr,
    cdiv,
    f16,
    f32,
    i32,
    register_tensor,
    script,
    shared_tensor,
    static,
    u64,
)
from hidet.lang.cuda import (
    barrier_sync,
    blockIdx,
    cp_async_bulk_commit_group,
    cp_async_bulk_wait_group,
    fence_mbarrier_init,
    fence_proxy_async,
    gridDim,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    setmaxnreg_dec,
    setmaxnreg_inc,
    syncthreads,
    tensor_map,
    threadIdx,
    tma_load,
    tma_store,
    wgmma,
    wgmma_commit_group,
    wgmma_descriptor,
    wgmma_fence,
    wgmma_layout,
    wgmma_wait_group,
)
from hidet.mapping.fragments import wgmma_c
from hidet.sim import Deadlock, MbarrierMisuse, MissingFence, MissingWait, Race

PHASE, DEADLOCK = "missing wait on an mbarrier phase", "deadlock"
STORE, FENCE = "missing wait on a bulk store", "missing proxy fence"
WAIT, RACE = "missing wait on a wgmma", "shared-memory race"
ROWS, COLUMNS, DEPTH, STAGES, BLOCKS = 128, 64, 64, 4, 2
SHAPE = "m64n64k16"
A_BYTES, B_BYTES = ROWS * DEPTH * 2, COLUMNS * DEPTH * 2


@script
def produce(a_boxes, b_boxes, tile_a, tile_b, full, empty, tiles, across, iterations, wrong):
    count = 0
    for tile in range(blockIdx.x, tiles, gridDim.x):
        row, column = tile // across * ROWS, tile % across * COLUMNS
        for iteration in range(iterations):
            stage = count % STAGES
            if wrong == "refill_too_early":
                mbarrier_wait(~empty[stage], 1)  # too_early
            else:
                mbarrier_wait(~empty[stage], (count // STAGES + 1) % 2)  # release_seen
            into_a, into_b, k = ~tile_a[stage, 0, 0], ~tile_b[stage, 0, 0], iteration * DEPTH
            nbytes = A_BYTES if wrong == "bytes_forgotten" else A_BYTES + B_BYTES
            bar = ~full[stage]
            mbarrier_arrive_expect_tx(bar, nbytes)  # expects
            tma_load(into_a, a_boxes, (row, k), bar)  # fills_a
            tma_load(into_b, b_boxes, (column, k), bar)  # fills_b
            count += 1


@script
def multiply(tile_a, tile_b, sums, full, empty, first, part, iterations, wrong):
    """The products of one tile, whose first iteration is iteration `first` of the ring."""
    for iteration in range(iterations):
        stage = (first + iteration) % STAGES
        if wrong == "parity_begun_anew":
            mbarrier_wait(~full[stage], iteration // STAGES % 2)  # wrong_parity
        else:
            mbarrier_wait(~full[stage], (first + iteration) // STAGES % 2)
        left = wgmma_descriptor(~tile_a[stage, part * 64, 0])
        right = wgmma_descriptor(~tile_b[stage, 0, 0])
        wgmma_fence(sums)
        for k in static(range(DEPTH // 16)):
            a, b, add = left.advance(32 * k), right.advance(32 * k), iteration + k > 0
            wgmma(a, b, sums, SHAPE, add)  # multiplies
        wgmma_commit_group()
        if wrong == "released_too_early":
            wgmma_wait_group(1)
        else:
            wgmma_wait_group(0, sums)
        if wrong == "stage_kept":
            if (iteration < iterations - 1) & (threadIdx.x % 128 == 0):
                mbarrier_arrive(~empty[stage])
        else:
            if threadIdx.x % 128 == 0:
                mbarrier_arrive(~empty[stage])


@script
def store_half(c_boxes, out, sums, part, row, column, wrong):
    """A warpgroup's half of a tile, through its buffer."""
    thread, at = threadIdx.x % 128, wgmma_c(COLUMNS)
    if wrong != "store_overwritten" and thread == 0:
        cp_async_bulk_wait_group(0, read=True)
    if wrong != "buffer_not_handed_on":
        barrier_sync(1 + part, 128)
    for v in static(range(COLUMNS // 2)):
        i, j = at.task(thread, v)
        out[part, i, j] = f16(sums[v])  # keeps
    if wrong != "store_unfenced":
        fence_proxy_async("shared::cta")
    if wrong != "store_unordered":
        barrier_sync(1 + part, 128)
    if thread == 0:
        begin, half = (row + part * 64, column), ~out[part, 0, 0]
        tma_store(c_boxes, begin, half)  # stores
        cp_async_bulk_commit_group()


def product(wrong="nothing"):
    """c = a · bᵀ; `wrong` names the mistake."""
    m, n, k = Var("m", i32), Var("n", i32), Var("k", i32)
    a_layout = wgmma_layout(f16, STAGES, ROWS, DEPTH)
    b_layout = wgmma_layout(f16, STAGES, COLUMNS, DEPTH)
    c_layout = wgmma_layout(f16, 2, 64, COLUMNS)

    @script
    def kernel(a: f16[m, k], b: f16[n, k], c: f16[m, n]) -> None:
        attr.cuda_grid_dim = BLOCKS
        attr.cuda_block_dim = 384
        attr.cuda_min_blocks = 1
        a_boxes = tensor_map(a, (ROWS, DEPTH), swizzle="128B")
        b_boxes = tensor_map(b, (COLUMNS, DEPTH), swizzle="128B")
        c_boxes = tensor_map(c, (64, COLUMNS), swizzle="128B")
        tile_a = shared_tensor(f16, (STAGES, ROWS, DEPTH), a_layout)
        tile_b = shared_tensor(f16, (STAGES, COLUMNS, DEPTH), b_layout)
        out = shared_tensor(f16, (2, 64, COLUMNS), c_layout)
        full = shared_tensor(u64, STAGES)
        empty = shared_tensor(u64, STAGES)
        if threadIdx.x == 0:
            for stage in range(STAGES):
                mbarrier_init(~full[stage], 1)
                mbarrier_init(~empty[stage], 2)
            fence_mbarrier_init()
        syncthreads()
        across, iterations = cdiv(n, COLUMNS), cdiv(k, DEPTH)
        tiles = cdiv(m, ROWS) * across
        if threadIdx.x < 128:
            setmaxnreg_dec(40)
            if threadIdx.x == 0:
                produce(
                    a_boxes, b_boxes, tile_a, tile_b, full, empty, tiles, across, iterations, wrong
                )
        else:
            setmaxnreg_inc(232)
            part, first = threadIdx.x // 128 - 1, i32(0)
            sums = register_tensor(f32, COLUMNS // 2)
            for tile in range(blockIdx.x, tiles, gridDim.x):
                multiply(tile_a, tile_b, sums, full, empty, first, part, iterations, wrong)
                first += iterations
                row, column = tile // across * ROWS, tile % across * COLUMNS
                store_half(c_boxes, out, sums, part, row, column, wrong)
            if wrong != "store_left_unread" and threadIdx.x % 128 == 0:
                cp_async_bulk_wait_group(0, read=True)

    return kernel


def small(*shape):
    """Numbers whose products and sums are exact."""
    return (np.arange(np.prod(shape)) * 7 % 5 - 2).reshape(shape).astype(np.float16)


def exact(a, b):
    return (a.astype(np.float32) @ b.astype(np.float32).T).astype(np.float16)


A, B = small(300, 168), small(72, 168)


def case(kind, fault, says="", **marks):
    """The product that has the mistake of the function's name, and the one that has none."""

    def enter(build):
        return mistake(kind, fault, A, B, expected=exact, says=says, **marks)(build)

    return enter


@case(PHASE, MissingWait, wrong="multiplies", other="fills_a", waited="wrong_parity")
def parity_begun_anew(right):
    """Tiles of three iterations in a ring of four: the second tile begins in the middle of a
    round."""
    return product() if right else product("parity_begun_anew")


@case(PHASE, MbarrierMisuse, wrong="expects", waited="too_early")
def refill_too_early(right):
    """The parity that lets the first round through lets the second one through too."""
    return product() if right else product("refill_too_early")


@case(DEADLOCK, Deadlock, says="2 of 2 arrivals", wrong="release_seen")
def stage_kept(right):
    """The last iteration of each tile gives its stage not back."""
    return product() if right else product("stage_kept")


@case(WAIT, MissingWait, wrong="fills_a", other="multiplies")
def released_too_early(right):
    """The stage is given back while the iteration's own products are under way."""
    return product() if right else product("released_too_early")


@case(PHASE, MissingWait, wrong="multiplies", other="fills_b")
def bytes_forgotten(right):
    """The barrier expects the bytes of a's tile only."""
    return product() if right else product("bytes_forgotten")


@case(STORE, MissingWait, wrong="keeps", other="stores")
def store_overwritten(right):
    """Nobody waits until the store of the tile before has read the buffer."""
    return product() if right else product("store_overwritten")


@case(STORE, MissingWait, wrong="keeps", other="stores")
def buffer_not_handed_on(right):
    """One thread waits for its store, and the others do not meet it."""
    return product() if right else product("buffer_not_handed_on")


@case(FENCE, MissingFence, wrong="stores", other="keeps")
def store_unfenced(right):
    return product() if right else product("store_unfenced")


@case(RACE, Race, wrong="stores", other="keeps")
def store_unordered(right):
    """The fences are there; the barrier between them and the store is not."""
    return product() if right else product("store_unordered")


@case(STORE, MissingWait, says="the kernel ends", wrong="stores")
def store_left_unread(right):
    return product() if right else product("store_left_unread")
