"""Why the host drives control flow on a GPU: what a graph tells before sizes are known.

`runtime.graph_region.fits_graph` decides when a plan is bound, by the same rules.
"""

from __future__ import annotations

from collections.abc import Iterator

from hidet.graph.body import Region
from hidet.ops.flow.control import If, Loop
from hidet.runtime.graphs.region import ITERATIONS
from hidet.target import Target


def host_reasons(op: Region, target: Target, inside: bool = False) -> Iterator[str]:
    """Why a region is no part of a CUDA graph on `target`; `inside` means within another one.

    Nothing is said of targets without CUDA graphs, where the host runs all there is.
    """
    if target.kind != "cuda" or target.simulated:
        return
    if inside and isinstance(op, Loop) and not is_bounded(op):
        yield f"a loop in it is not known to end within {ITERATIONS} iterations"
    if isinstance(op, If) and op.shapes:
        yield "the branch that runs decides the sizes of its results"
    for name, body in op.bodies().items():
        if body.graph.data_sizes:
            yield f"sizes in its {name} depend on data, which the host reads"
        for node in body.graph.nodes:
            if node.op.kind == "framework":
                yield f"{getattr(node.op, 'key', node.op.name)} in its {name} runs on the host"
            elif isinstance(node.op, Region):
                yield from host_reasons(node.op, target, inside=True)


def is_bounded(op: Loop) -> bool:
    """Whether a loop is known to have at most as many iterations as one launch of a graph."""
    return isinstance(op.count, int) and op.count <= ITERATIONS
