"""Clusters: memory of another block, read before it is written or after the block has left."""

import numpy as np

from catalogue.case import mistake, ramp
from hidet.lang import attr, f32, script, shared_tensor
from hidet.lang.cuda import (
    blockIdx,
    cluster_arrive,
    cluster_sync,
    cluster_wait,
    clusterRank,
    mapa,
    syncthreads,
    threadIdx,
)
from hidet.sim import ClusterMisuse, Race

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
