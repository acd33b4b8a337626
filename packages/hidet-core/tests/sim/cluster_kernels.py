"""Kernels of clusters as text: simulated, run on a GPU, and broken on purpose."""

SHARED_TILES = """
    @script
    def kernel(x: f32[5, 64], y: f32[2, 5, 64]):
        attr.cuda_grid_dim = 2
        attr.cuda_block_dim = 96
        attr.cuda_cluster_dim = 2
        ring = shared_tensor("float32", [2, 64])
        full = shared_tensor("uint64", [2])
        empty = shared_tensor("uint64", [2])
        if threadIdx.x == 0:
            for s in range(2):
                mbarrier_init(~full[s], 1)
                mbarrier_init(~empty[s], 4)
            fence_mbarrier_init()
        cluster_sync()
        if threadIdx.x >= 64:
            if threadIdx.x == 64:
                for i in range(5):
                    mbarrier_wait(~empty[i % 2], (i // 2 + 1) % 2)
                    mbarrier_arrive_expect_tx(~full[i % 2], 256)
                    if clusterRank == 0:
                        bar = ~full[i % 2]
                        cp_async_bulk_load(~ring[i % 2, 0], ~x[i, 0], 256, bar, multicast=3)
        else:
            for i in range(5):
                mbarrier_wait(~full[i % 2], i // 2 % 2)
                y[clusterRank, i, threadIdx.x] = ring[i % 2, threadIdx.x] + 1.0
                syncwarp()
                if threadIdx.x % 32 == 0:
                    mbarrier_arrive_cluster(~empty[i % 2], 1 - clusterRank)
                    mbarrier_arrive(~empty[i % 2])
        cluster_sync()
"""
"""One block loads for both; the consumers of both tell it when a stage is free."""

STORED = """
    @script
    def kernel(x: f32[2, 3, 64], y: f32[2, 3, 64]):
        attr.cuda_grid_dim = 2
        attr.cuda_block_dim = 64
        attr.cuda_cluster_dim = 2
        told = shared_tensor("float32", [2, 2])
        full = shared_tensor("uint64", [2])
        t = threadIdx.x
        if t == 0:
            mbarrier_init(~full[0], 1)
            mbarrier_init(~full[1], 1)
            fence_mbarrier_init()
        cluster_sync()
        for i in range(3):
            if t == 0:
                mbarrier_arrive_expect_tx(~full[i % 2], 8)
            syncwarp()
            if t % 32 == 0:
                first = x[blockIdx.x, i, t]
                store_to_block(~told[i % 2, t // 32], first, ~full[i % 2], 1 - clusterRank)
            mbarrier_wait(~full[i % 2], i // 2)
            y[blockIdx.x, i, t] = told[i % 2, 1 - t // 32]
"""
"""Warps of two blocks tell each other a value, in turns of two places."""
