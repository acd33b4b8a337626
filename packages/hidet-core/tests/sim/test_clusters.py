"""Clusters: each other's shared memory, their barrier, barriers of other blocks, multicast."""

import numpy as np
import pytest
from cluster_kernels import SHARED_TILES, STORED

from hidet.errors import BadArgument, SimulationError
from hidet.sim import ClusterMisuse, Deadlock, MissingFence, MissingWait, Race, launch

EXCHANGE = """
    @script
    def kernel(x: f32[4, 32], y: f32[4, 32]):
        attr.cuda_grid_dim = 4
        attr.cuda_block_dim = 32
        attr.cuda_cluster_dim = 2
        tile = shared_tensor("float32", [32])
        t = threadIdx.x
        tile[t] = x[blockIdx.x, t]
        cluster_sync()
        other = mapa(~tile[0], 1 - clusterRank)
        y[blockIdx.x, t] = other[31 - t]  # there
        cluster_sync()
        tile[t] = 0.0
"""


def arrays():
    return np.random.default_rng(0).random((4, 32), np.float32), np.zeros((4, 32), np.float32)


def test_blocks_read_each_other(variant):
    x, y = arrays()
    launch(variant(EXCHANGE), x, y)
    np.testing.assert_array_equal(y, x[[1, 0, 3, 2], ::-1])


WRONG = {
    "nothing orders the stores before the loads": (
        ClusterMisuse,
        {"cluster_sync()\n    other": "syncthreads()\n    other", "# there": "# here"},
    ),
    "the barrier passes nothing on": (
        Race,
        {
            "cluster_sync()\n    other": "cluster_arrive(True)\n    cluster_wait()\n    other",
            "# there": "# here",
        },
    ),
    "the tile is overwritten too early": (
        Race,
        {"cluster_sync()\n    tile[t] = 0.0": "tile[t] = 0.0  # here"},
    ),
    "the other block may have ended": (
        ClusterMisuse,
        {"cluster_sync()\n    tile[t] = 0.0": "syncthreads()", "# there": "# here"},
    ),
    "no wait": (
        Race,
        {"cluster_sync()\n    other": "cluster_arrive()\n    other", "# there": "# here"},
    ),
    "no arrival": (
        ClusterMisuse,
        {"cluster_sync()\n    other": "cluster_wait()  # here\n    other"},
    ),
    "no such block": (ClusterMisuse, {"1 - clusterRank": "2 - clusterRank", "# there": "# here"}),
}


@pytest.mark.parametrize("name", WRONG)
def test_broken_exchange(variant, name):
    kind, changes = WRONG[name]
    kernel = variant(EXCHANGE, changes)
    with pytest.raises(kind) as caught:
        launch(kernel, *arrays())
    assert caught.value.place.line == variant.line


def test_some_threads_do_not_come(variant):
    kernel = variant(
        EXCHANGE,
        {"cluster_sync()\n    other": "if clusterRank == 0:\n        cluster_sync()\n    other"},
    )
    with pytest.raises((Deadlock, ClusterMisuse)):
        launch(kernel, *arrays())


def test_a_grid_of_whole_clusters(variant):
    with pytest.raises(BadArgument, match="whole clusters"):
        launch(variant(EXCHANGE, {"grid_dim = 4": "grid_dim = 3"}), *arrays())


NUMBERS = """
    @script
    def kernel(y: i32[4, 4, 2, 4]):
        attr.cuda_grid_dim = 4, 4, 2
        attr.cuda_block_dim = 1
        attr.cuda_cluster_dim = 2, 2, 1
        y[blockIdx.x, blockIdx.y, blockIdx.z, 0] = clusterRank
        number = clusterIdx.x * 100 + clusterIdx.y * 10 + clusterIdx.z
        y[blockIdx.x, blockIdx.y, blockIdx.z, 1] = number
        y[blockIdx.x, blockIdx.y, blockIdx.z, 2] = clusterBlockIdx.x * 10 + clusterBlockIdx.y
        size = clusterDim.x * 100 + clusterDim.y * 10 + clusterDim.z
        y[blockIdx.x, blockIdx.y, blockIdx.z, 3] = size
"""


def test_which_block_of_which_cluster(variant):
    y = np.zeros((4, 4, 2, 4), np.int32)
    launch(variant(NUMBERS), y)
    i, j, k = np.indices((4, 4, 2))
    np.testing.assert_array_equal(y[..., 0], i % 2 + j % 2 * 2)
    np.testing.assert_array_equal(y[..., 1], i // 2 * 100 + j // 2 * 10 + k)
    np.testing.assert_array_equal(y[..., 2], i % 2 * 10 + j % 2)
    assert (y[..., 3] == 221).all()


def test_multicast(variant):
    x = np.random.default_rng(0).random((5, 64), np.float32)
    y = np.zeros((2, 5, 64), np.float32)
    launch(variant(SHARED_TILES), x, y)
    np.testing.assert_array_equal(y[0], x + 1)
    np.testing.assert_array_equal(y[1], x + 1)


WRONG_TILES = {
    "stages are freed in the own block only": (
        (Deadlock,),
        {"mbarrier_arrive_cluster(~empty[i % 2], 1 - clusterRank)": "pass"},
    ),
    "the leader does not wait for the other block": (
        (MissingWait, Race),
        {
            "(~empty[s], 4)": "(~empty[s], 2)",
            "mbarrier_arrive_cluster(~empty[i % 2], 1 - clusterRank)": "pass",
        },
    ),
    "the blocks do not meet first": (
        (ClusterMisuse, Race),
        {"cluster_sync()\n    if threadIdx.x >= 64": "syncthreads()\n    if threadIdx.x >= 64"},
    ),
    "the blocks do not meet last": (
        (ClusterMisuse,),
        {"mbarrier_arrive(~empty[i % 2])\n    cluster_sync()": "mbarrier_arrive(~empty[i % 2])"},
    ),
    "no fence after the initialisation": ((MissingFence,), {"fence_mbarrier_init()": "pass"}),
}


@pytest.mark.parametrize("name", WRONG_TILES)
def test_broken_multicast(variant, name):
    kinds, changes = WRONG_TILES[name]
    with pytest.raises(kinds):
        launch(
            variant(SHARED_TILES, changes),
            np.ones((5, 64), np.float32),
            np.zeros((2, 5, 64), np.float32),
        )


def stored_arrays():
    x = np.random.default_rng(0).random((2, 3, 64), np.float32)
    return x, np.zeros_like(x)


def test_blocks_tell_each_other(variant):
    x, y = stored_arrays()
    launch(variant(STORED, {}), x, y)
    expected = np.repeat(x[::-1, :, [32, 0]], 32, axis=2)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"mbarrier_wait(~full[i % 2], i // 2)": "pass"}, MissingWait),
        ({"syncwarp()": "pass"}, Race),  # others of the warp may not have read yet
        ({"full[i % 2], 8)": "full[i % 2], 12)"}, Deadlock),
        ({"1 - clusterRank)": "2)"}, SimulationError),
    ],
)
def test_telling_too_early_or_too_much(variant, changes, error):
    with pytest.raises(error):
        launch(variant(STORED, changes), *stored_arrays())
