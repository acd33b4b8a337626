"""TMA: the copy engine moves boxes of a global tensor. PTX ISA: cp.async.bulk.tensor.

Operands name a tensor map (`hidet.ir.kernel.TensorMap`) and where the box begins: one i32 for each
axis, outermost first; for a load in im2col mode the offsets of the filter follow, one i32 for each
spatial axis. Positions may lie outside of the tensor: a load fills what is outside, a store drops
it. The last one is a multiple of 16 bytes, and a store begins at no position below 0: an H200 stops
at others with an illegal instruction, though the manual does not say so. The thread that executes
the call starts one copy; nothing says when it happens but the barrier or the bulk group it
completes at.
"""

from __future__ import annotations

from hidet.intrinsics.base import TOUCHES_NOTHING, Effects, Intrinsic
from hidet.intrinsics.tensor_maps.meaning import loaded, prefetched, stored
from hidet.intrinsics.tensor_maps.operands import (
    check_load,
    check_prefetch,
    check_prefetch_map,
    check_store,
)
from hidet.intrinsics.tensor_maps.text import (
    load_text,
    prefetch_map_text,
    prefetch_text,
    store_text,
)

TMA = (
    Intrinsic(
        "tma_load",
        "Load a box into shared memory, of one block or several, completing at an mbarrier. "
        "PTX ISA: cp.async.bulk.tensor.",
        check_load,
        lambda invoke: Effects(reads=invoke.args[1:2], writes=(invoke.args[0], invoke.args[2])),
        load_text,
        loaded,
    ),
    Intrinsic(
        "tma_store",
        "Store a box from shared memory, in the thread's bulk group. PTX ISA: "
        "cp.async.bulk.tensor.",
        check_store,
        lambda invoke: Effects(reads=invoke.args[1:2], writes=invoke.args[:1]),
        store_text,
        stored,
    ),
    Intrinsic(
        "tma_reduce",
        "Combine a box in shared memory with one in global memory, each element atomically, in "
        "the thread's bulk group. PTX ISA: cp.reduce.async.bulk.tensor.",
        check_store,
        lambda invoke: Effects(reads=(invoke.args[1], invoke.args[0]), writes=invoke.args[:1]),
        store_text,
        stored,
    ),
    Intrinsic(
        "tma_prefetch",
        "Bring a box into the second cache. PTX ISA: cp.async.bulk.prefetch.tensor.",
        check_prefetch,
        TOUCHES_NOTHING,
        prefetch_text,
        prefetched,
    ),
    Intrinsic(
        "tma_prefetch_map",
        "Bring a tensor map to where the copy engine finds it fast. PTX ISA: prefetch.tensormap.",
        check_prefetch_map,
        TOUCHES_NOTHING,
        prefetch_map_text,
        lambda context, invoke: None,
    ),
)
