"""What only CUDA kernels have: thread positions, barriers, shuffles, atomics, copies, matrices."""

from hidet.lang.cuda.barrier import barrier_arrive, barrier_sync, syncthreads, syncwarp, threadfence
from hidet.lang.cuda.threads import blockDim, blockIdx, gridDim, threadIdx

__all__ = [
    "barrier_arrive",
    "barrier_sync",
    "blockDim",
    "blockIdx",
    "gridDim",
    "syncthreads",
    "syncwarp",
    "threadIdx",
    "threadfence",
]
