"""Edges of CUDA graphs over which a kernel may begin before the one it depends on has ended."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from hidet.runtime.driver import call, cu

SINCE = 12030
"""The version of CUDA whose driver knows edges of several kinds."""
PROGRAMMATIC_PORT = 1
"""CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC: when all blocks let their dependents begin, or ended."""


@lru_cache(maxsize=1)
def early_edges() -> bool:
    """Whether the driver has such edges; those of an older one wait for the whole kernel."""
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
