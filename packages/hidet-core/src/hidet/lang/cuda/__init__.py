"""What only CUDA kernels have: thread positions, barriers, shuffles, atomics, copies, matrices."""

from hidet.lang.cuda.async_copy import (
    cp_async,
    cp_async_commit_group,
    cp_async_wait_all,
    cp_async_wait_group,
)
from hidet.lang.cuda.atomic import (
    atomic_add,
    atomic_cas,
    atomic_exchange,
    atomic_max,
    atomic_min,
)
from hidet.lang.cuda.barrier import (
    barrier_arrive,
    barrier_sync,
    syncthreads,
    syncwarp,
    threadfence,
)
from hidet.lang.cuda.bulk import (
    cp_async_bulk_commit_group,
    cp_async_bulk_load,
    cp_async_bulk_prefetch,
    cp_async_bulk_store,
    cp_async_bulk_wait_group,
)
from hidet.lang.cuda.control import (
    clock,
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
    prefetch,
)
from hidet.lang.cuda.matrix import ldmatrix, mma_sync, stmatrix
from hidet.lang.cuda.mbarrier import (
    fence_mbarrier_init,
    fence_proxy_async,
    mbarrier_arrive,
    mbarrier_arrive_expect_tx,
    mbarrier_expect_tx,
    mbarrier_init,
    mbarrier_inval,
    mbarrier_test_wait,
    mbarrier_try_wait,
    mbarrier_wait,
    mbarrier_wait_state,
)
from hidet.lang.cuda.shuffle import (
    all_sync,
    any_sync,
    ballot_sync,
    shfl_down_sync,
    shfl_sync,
    shfl_up_sync,
    shfl_xor_sync,
)
from hidet.lang.cuda.tensor_map import im2col_map, tensor_map
from hidet.lang.cuda.threads import blockDim, blockIdx, gridDim, laneid, threadIdx
from hidet.lang.cuda.tma import (
    tma_load,
    tma_prefetch,
    tma_prefetch_map,
    tma_reduce,
    tma_store,
)
from hidet.lang.memory import register_tensor, shared_tensor

__all__ = [
    "all_sync",
    "any_sync",
    "atomic_add",
    "atomic_cas",
    "atomic_exchange",
    "atomic_max",
    "atomic_min",
    "ballot_sync",
    "barrier_arrive",
    "barrier_sync",
    "blockDim",
    "blockIdx",
    "clock",
    "cp_async",
    "cp_async_bulk_commit_group",
    "cp_async_bulk_load",
    "cp_async_bulk_prefetch",
    "cp_async_bulk_store",
    "cp_async_bulk_wait_group",
    "cp_async_commit_group",
    "cp_async_wait_all",
    "cp_async_wait_group",
    "fence_mbarrier_init",
    "fence_proxy_async",
    "gridDim",
    "griddepcontrol_launch_dependents",
    "griddepcontrol_wait",
    "im2col_map",
    "laneid",
    "ldmatrix",
    "mbarrier_arrive",
    "mbarrier_arrive_expect_tx",
    "mbarrier_expect_tx",
    "mbarrier_init",
    "mbarrier_inval",
    "mbarrier_test_wait",
    "mbarrier_try_wait",
    "mbarrier_wait",
    "mbarrier_wait_state",
    "mma_sync",
    "prefetch",
    "register_tensor",
    "shared_tensor",
    "shfl_down_sync",
    "shfl_sync",
    "shfl_up_sync",
    "shfl_xor_sync",
    "stmatrix",
    "syncthreads",
    "syncwarp",
    "tensor_map",
    "threadIdx",
    "threadfence",
    "tma_load",
    "tma_prefetch",
    "tma_prefetch_map",
    "tma_reduce",
    "tma_store",
]
