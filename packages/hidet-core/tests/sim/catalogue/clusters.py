"""Clusters: memory of another block, read before it is written or after the block has left."""

import numpy as np

from catalogue.case import mistake, ramp, same
from hidet.lang import attr, f32, script, shared_tensor, u64
from hidet.lang.cuda import (
    blockIdx,
    cluster_arrive,
    cluster_sync,
    cluster_wait,
    clusterRank,
    fence_mbarrier_init,
    mapa,
    mbarrier_arrive_cluster,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    syncthreads,
    syncwarp,
    tensor_map,
    threadIdx,
    tma_load,
)
from hidet.sim import ClusterMisuse, MissingFence, Race

KIND = "distributed shared memory used wrongly"


def exchanged(x):
    return np.ascontiguousarray(x[[1, 0, 3, 2], ::-1])


@mistake(KIND, ClusterMisuse, ramp(4, 32), expected=exchanged)
def a_neighbour_read_after_the_wrong_barrier(right):
    """`syncthreads` is for the threads of one block."""

    @script
    def kernel(x: f32[4, 32], y: f32[4, 32]):
        attr.cuda_grid_dim = 4
        attr.cuda_block_dim = 32
        attr.cuda_cluster_dim = 2
        tile = shared_tensor("float32", [32])
        tile[threadIdx.x] = x[blockIdx.x, threadIdx.x]
        if right:
            cluster_sync()
        else:
            syncthreads()
        other = mapa(~tile[0], 1 - clusterRank)
        y[blockIdx.x, threadIdx.x] = other[31 - threadIdx.x]  # wrong
        cluster_sync()

    return kernel


@mistake(KIND, ClusterMisuse, ramp(4, 32), expected=exchanged)
def a_block_that_leaves_too_early(right):
    """Shared memory goes with its block: nobody may leave while others still read there."""

    @script
    def kernel(x: f32[4, 32], y: f32[4, 32]):
        attr.cuda_grid_dim = 4
        attr.cuda_block_dim = 32
        attr.cuda_cluster_dim = 2
        tile = shared_tensor("float32", [32])
        tile[threadIdx.x] = x[blockIdx.x, threadIdx.x]
        cluster_sync()
        other = mapa(~tile[0], 1 - clusterRank)
        y[blockIdx.x, threadIdx.x] = other[31 - threadIdx.x]  # wrong
        if right:
            cluster_arrive()
            cluster_wait()

    return kernel


@mistake(KIND, Race, ramp(4, 32), expected=exchanged)
def a_tile_replaced_under_its_reader(right):
    @script
    def kernel(x: f32[4, 32], y: f32[4, 32]):
        attr.cuda_grid_dim = 4
        attr.cuda_block_dim = 32
        attr.cuda_cluster_dim = 2
        tile = shared_tensor("float32", [32])
        tile[threadIdx.x] = x[blockIdx.x, threadIdx.x]
        cluster_sync()
        other = mapa(~tile[0], 1 - clusterRank)
        y[blockIdx.x, threadIdx.x] = other[31 - threadIdx.x]  # other
        if right:
            cluster_sync()
        tile[threadIdx.x] = 0  # wrong
        cluster_sync()

    return kernel


@mistake("missing proxy fence", MissingFence, ramp(16, 32), expected=lambda x: np.stack([x, x]))
def a_barrier_the_neighbours_copy_may_not_see(right):
    """A multicast completes at the barriers of both blocks: each has to be shown to it."""

    @script
    def kernel(x: f32[16, 32], y: f32[2, 16, 32]):
        attr.cuda_grid_dim = 2
        attr.cuda_block_dim = 32
        attr.cuda_cluster_dim = 2
        half = tensor_map(x, (8, 32))
        tile = shared_tensor("float32", [2, 8, 32])
        full = shared_tensor("uint64", [1])
        if threadIdx.x == 0:
            mbarrier_init(full, 1)
            if right:
                fence_mbarrier_init()
        cluster_sync()
        if threadIdx.x == 0:
            mbarrier_arrive_expect_tx(full, 2 * 8 * 32 * 4)
            mine = ~tile[clusterRank, 0, 0]
            tma_load(mine, half, (clusterRank * 8, 0), full, multicast=3)  # wrong
        mbarrier_wait(full, 0)
        for row in range(16):
            y[clusterRank, row, threadIdx.x] = tile[row // 8, row % 8, threadIdx.x]
        cluster_sync()

    return kernel


@mistake(KIND, Race, ramp(2, 32), expected=same)
def a_relaxed_meeting_after_an_unfenced_barrier(right):
    """`cluster_arrive(relaxed=True)` passes on nothing but barriers that were fenced."""

    @script
    def kernel(x: f32[2, 32], y: f32[2, 32]):
        attr.cuda_grid_dim = 2
        attr.cuda_block_dim = 32
        attr.cuda_cluster_dim = 2
        published = shared_tensor(u64, 1)
        if threadIdx.x == 0:
            mbarrier_init(published, 1)  # other
            if right:
                fence_mbarrier_init()
        syncwarp()
        cluster_arrive(relaxed=True)
        cluster_wait()
        if threadIdx.x == 0:
            mbarrier_arrive_cluster(published, 1 - clusterRank)  # wrong
        mbarrier_wait(published, 0)
        y[blockIdx.x, threadIdx.x] = x[blockIdx.x, threadIdx.x]
        cluster_sync()

    return kernel


@mistake(KIND, ClusterMisuse, ramp(2, 32), expected=same)
def an_arrival_in_a_block_that_left(right):
    """The last release goes to a barrier of a block that waits for nothing any more."""

    @script
    def kernel(x: f32[2, 32], y: f32[2, 32]):
        attr.cuda_grid_dim = 2
        attr.cuda_block_dim = 32
        attr.cuda_cluster_dim = 2
        published = shared_tensor(u64, 1)
        if threadIdx.x == 0:
            mbarrier_init(published, 1)
            fence_mbarrier_init()
        cluster_sync()
        y[blockIdx.x, threadIdx.x] = x[blockIdx.x, threadIdx.x]
        if clusterRank == 1 and threadIdx.x == 0:
            mbarrier_arrive_cluster(published, 0)  # wrong
        if right:
            cluster_sync()

    return kernel
