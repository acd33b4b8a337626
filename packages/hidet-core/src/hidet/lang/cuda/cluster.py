"""Clusters of blocks (sm_90): which block runs, their barrier, and each other's shared memory.

`attr.cuda_cluster_dim = (2, 1, 1)` makes clusters of two neighbouring blocks.
"""

from __future__ import annotations

from typing import Any

from hidet.ir.expr import Builtin, Expr, Value
from hidet.lang.cuda.invoke import invoke, operand
from hidet.lang.cuda.threads import Position
from hidet.lang.values import converted
from hidet.types import u32

clusterIdx = Position("clusterIdx")
"""Which cluster of the grid."""
clusterDim = Position("clusterDim")
"""How many blocks a cluster has along each axis."""
clusterBlockIdx = Position("clusterBlockIdx")
"""Which block of its cluster."""
clusterRank = Builtin("clusterRank")
"""The number of the block in its cluster, i32, by which others name it. PTX: %cluster_ctarank."""


def mapa(pointer: Any, block: Value) -> Any:
    """The address of the same place in shared memory of block `block` of the cluster.

    It is loaded from, stored to and updated atomically like other addresses. PTX ISA: mapa.
    """
    at = operand(pointer)
    return invoke("mapa", at, converted(block, u32, "the block"), results=(at.type,))


def store_to_block(pointer: Expr, value: Value, barrier: Expr, block: Value) -> None:
    """Start storing a value of four or eight bytes in the shared memory of block `block`.

    `pointer` and `barrier` are the block's own addresses of the same places as there; the bytes
    arrive at the mbarrier. What the thread did before, and its warp ahead of a `syncwarp`, is
    known to who waits for it. PTX ISA: st.async.
    """
    at = operand(pointer)
    stored = converted(value, at.dtype, "what the address holds")
    invoke("store_to_block", at, stored, barrier, converted(block, u32, "the block"))


def cluster_arrive(relaxed: bool = False) -> None:
    """Arrive at the barrier of the cluster; unless `relaxed`, earlier accesses are passed on.

    All lanes of a warp do so together. PTX ISA: barrier.cluster.arrive.
    """
    invoke("cluster_arrive", options=("relaxed" if relaxed else "release",))


def cluster_wait() -> None:
    """Wait until all threads of the cluster have arrived. PTX ISA: barrier.cluster.wait."""
    invoke("cluster_wait")


def cluster_sync() -> None:
    """All threads of the cluster meet, and see each other's accesses."""
    cluster_arrive()
    cluster_wait()


def mbarrier_arrive_cluster(barrier: Expr, block: Value, count: Value = 1) -> None:
    """Arrive `count` times at the barrier at the same place in block `block` of the cluster."""
    number = converted(count, u32, "the number of arrivals")
    invoke("mbarrier_arrive_cluster", barrier, converted(block, u32, "the block"), number)


def mbarrier_arrive_expect_tx_cluster(barrier: Expr, block: Value, nbytes: Value) -> None:
    """Let a barrier of block `block` expect `nbytes` bytes, and arrive there once."""
    number = converted(nbytes, u32, "the number of bytes")
    where = converted(block, u32, "the block")
    invoke("mbarrier_arrive_expect_tx_cluster", barrier, where, number)
