"""Kernels that wait themselves may begin before the one they depend on has ended: over an edge of a
CUDA graph, or after it on a stream. CUDA driver API: CUgraphEdgeData, cuLaunchKernelEx."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from hidet.runtime.devices.captures import captured_nodes
from hidet.runtime.devices.driver import call, cu
from hidet.runtime.plans.sizes import Size

SINCE = 12030
"""The version of CUDA whose driver knows edges of several kinds."""
PROGRAMMATIC_PORT = 1
"""CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC: when all blocks let their dependents begin, or ended."""


@lru_cache(maxsize=1)
def early_edges() -> bool:
    """Whether the driver has such edges, also in what it captures; those of an older one wait for
    the whole kernel."""
    return int(call("cuDriverGetVersion")) >= SINCE


def add_early_edge(graph: Any, before: Any, after: Any) -> None:
    """Let kernel node `after`, which waits itself, begin when all blocks of `before` let it.

    A block does so by an instruction, or by its end.
    """
    edge = cu.CUgraphEdgeData()
    edge.type = cu.CUgraphDependencyType.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
    edge.from_port = PROGRAMMATIC_PORT
    # CUDA 12 has two functions of that purpose, 13 only that which takes edge data.
    name = "cuGraphAddDependencies"
    call(f"{name}_v2" if hasattr(cu, f"{name}_v2") else name, graph, [before], [after], [edge], 1)


def early_launch(grid: Sequence[Size], block: Sequence[int], shared_bytes: int) -> Any:
    """How to launch a kernel that waits itself: it may begin when all blocks of the kernel before
    it on the stream let it; after anything else it begins as any kernel."""
    attribute = cu.CUlaunchAttribute()
    attribute.id = cu.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
    attribute.value.programmaticStreamSerializationAllowed = 1
    config = cu.CUlaunchConfig()
    config.gridDimX, config.gridDimY, config.gridDimZ = grid
    config.blockDimX, config.blockDimY, config.blockDimZ = block
    config.sharedMemBytes = shared_bytes
    config.attrs, config.numAttrs = [attribute], 1
    return config


def kernel_before(stream: int) -> int | None:
    """The function of the one kernel that what a stream captures next depends on; None if it
    depends on anything else: only one kernel stands for all that came before."""
    _, nodes = captured_nodes(stream) or (None, [])
    if len(nodes) != 1:
        return None
    if call("cuGraphNodeGetType", nodes[0]) != cu.CUgraphNodeType.CU_GRAPH_NODE_TYPE_KERNEL:
        return None
    return int(call("cuGraphKernelNodeGetParams", nodes[0]).func)
