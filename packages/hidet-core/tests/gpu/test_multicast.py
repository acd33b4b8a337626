"""TMA to all blocks of a cluster: each loads a part of the tile that all of them need."""

import numpy as np
import pytest

from hidet.lang import attr, f16, script, shared_tensor, u64
from hidet.lang.cuda import (
    cluster_sync,
    clusterIdx,
    clusterRank,
    fence_mbarrier_init,
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
from hidet.sim import ClusterMisuse, MbarrierMisuse, MissingFence, MissingWait

ROWS, WIDTH, STAGES, CLUSTERS = 16, 64, 2, 2
NBYTES = ROWS * WIDTH * 2


@script
def produce(boxes, ring, full, empty, tiles, blocks, wrong):
    """This block's part of each tile, to all blocks; each expects the parts of all."""
    part = ROWS // blocks
    for iteration in range(tiles):
        stage = iteration % STAGES
        if wrong != "own":
            mbarrier_wait(~empty[stage], (iteration // STAGES + 1) % 2)
        mbarrier_arrive_expect_tx(~full[stage], NBYTES)
        row = (clusterIdx.x * tiles + iteration) * ROWS + clusterRank * part
        to_all = (1 << blocks) - 1
        into = ~ring[stage, clusterRank * part, 0]
        tma_load(into, boxes, (row, 0), ~full[stage], multicast=to_all)


@script
def consume(y, ring, full, empty, tiles, blocks):
    """Add the block's number in the cluster; the stage is free when all blocks have read it."""
    thread = threadIdx.x
    for iteration in range(tiles):
        stage = iteration % STAGES
        mbarrier_wait(~full[stage], iteration // STAGES % 2)
        for row in range(ROWS):
            value = ring[stage, row, thread]
            y[clusterRank, (clusterIdx.x * tiles + iteration) * ROWS + row, thread] = (
                value + clusterRank
            )
        syncwarp()
        if thread % 32 < blocks:
            mbarrier_arrive_cluster(~empty[stage], thread % 32)


def spread(blocks, tiles, wrong="nothing"):
    """y[r] = x + r, by the blocks r of each cluster; `wrong` names a mistake."""
    rows = CLUSTERS * tiles * ROWS

    @script
    def kernel(x: f16[rows, WIDTH], y: f16[blocks, rows, WIDTH]) -> None:
        attr.cuda_grid_dim = CLUSTERS * blocks
        attr.cuda_block_dim = WIDTH + 32
        attr.cuda_cluster_dim = blocks
        boxes = tensor_map(x, (ROWS // blocks, WIDTH))
        ring = shared_tensor(f16, (STAGES, ROWS, WIDTH))
        full = shared_tensor(u64, STAGES)
        empty = shared_tensor(u64, STAGES)
        if threadIdx.x == 0:
            for stage in range(STAGES):
                mbarrier_init(~full[stage], 1)
                mbarrier_init(~empty[stage], 2 * blocks)
            if wrong != "fence":
                fence_mbarrier_init()
        if wrong == "begin":
            syncthreads()
        else:
            cluster_sync()
        if threadIdx.x == WIDTH:
            produce(boxes, ring, full, empty, tiles, blocks, wrong)
        elif threadIdx.x < WIDTH:
            consume(y, ring, full, empty, tiles, blocks)
        if wrong != "end":
            cluster_sync()

    return kernel


def arrays(blocks, tiles):
    shape = (CLUSTERS * tiles * ROWS, WIDTH)
    x = np.random.default_rng(0).integers(-99, 99, shape).astype(np.float16)
    return x, np.zeros((blocks, *shape), np.float16)


@pytest.mark.parametrize("tiles", [1, 2, 7])
@pytest.mark.parametrize("blocks", [2, 4])
def test_multicast(blocks, tiles, run):
    x, y = run(spread(blocks, tiles), *arrays(blocks, tiles))
    np.testing.assert_array_equal(y, x + np.arange(blocks, dtype=np.float16)[:, None, None])


@pytest.mark.parametrize("blocks", [2, 4])
@pytest.mark.parametrize(
    ("wrong", "kinds"),
    [
        ("own", (MissingWait, MbarrierMisuse)),
        ("fence", MissingFence),
        ("begin", ClusterMisuse),
        ("end", ClusterMisuse),
    ],
)
def test_mistakes(blocks, wrong, kinds, simulated):
    with pytest.raises(kinds):
        simulated(spread(blocks, 5, wrong), *arrays(blocks, 5))
