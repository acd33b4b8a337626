"""How much a model file may ask for before it is refused: what keeps hostile files harmless."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from hidet.compute.sizes import terms
from hidet.errors import LimitExceeded
from hidet.graph import FlowGraph, Tensor, placed
from hidet.types import Size

WORDS = {
    "nodes": "{} nodes, those of functions among them",
    "calls": "functions that call functions to a depth of {}",
    "bodies": "control flow within control flow to a depth of {}",
    "elements": "a tensor of {} elements",
    "axis": "an axis of size {}",
    "constant_bytes": "{} bytes of constants that are computed from other constants",
}


@dataclass(frozen=True)
class Limits:
    """What an import may take.

    `nodes` counts nodes after functions were expanded, `calls` the depth to which functions call
    functions, `bodies` that of control flow in control flow. `elements` is the most that one tensor
    may have, `axis` the largest size (kernels count
    in 32 bits), `constant_bytes` what is made of constants while importing,
    beside eight times what the file holds: as much as floats take that were packed in 4 bits.
    """

    nodes: int = 100_000
    calls: int = 64
    bodies: int = 32
    elements: int = 2**40
    axis: int = 2**31 - 1
    constant_bytes: int = 2**30

    def require(self, what: str, count: int) -> None:
        """Raise LimitExceeded if `count` is beyond the limit of that name."""
        most = getattr(self, what)
        if count > most:
            trusted = f"options={{'import_{what}': {count}}} accepts it, if the file is trusted"
            raise LimitExceeded(
                f"the model asks for {WORDS[what].format(count)}; at most {most} are accepted",
                help=None if what == "axis" else trusted,
            )

    def require_shape(self, shape: Sequence[Size]) -> None:
        """Raise LimitExceeded for sizes, or a number of elements, that no tensor should have.

        Axes of size 0 do not make others small; of a size that varies its factors count.
        """
        factors = [max(map(abs, terms(size).values()), default=0) for size in shape]
        self.require("axis", max(factors, default=0))
        self.require("elements", prod(max(each, 1) for each in factors))

    def require_constants(self, graph: FlowGraph) -> None:
        """Raise LimitExceeded if a graph computes far more from constants than constants hold."""
        most = self.constant_bytes + 8 * sum(map(nbytes, graph.constants))
        made = 0
        for tensor in computed_constants(graph):
            made += nbytes(tensor)
            if made > most:
                with placed(tensor.trace[0].place if tensor.trace else None):
                    self.require("constant_bytes", made)


def computed_constants(graph: FlowGraph) -> list[Tensor]:
    """What nodes compute that read no input, and either is large or is read by nodes that do."""
    varying = set(graph.inputs)
    fixed: list[Tensor] = []
    used: set[Tensor] = set(graph.outputs)
    for node in graph.nodes:
        if varying.isdisjoint(node.inputs):
            fixed += node.outputs
        else:
            varying.update(node.outputs)
            used.update(node.inputs)
    return [each for each in fixed if each in used or nbytes(each) > LARGE]


LARGE = 2**28


def nbytes(tensor: Tensor) -> int:
    """The bytes of a tensor whose sizes are all numbers; 0 of another."""
    sizes = [size for size in tensor.shape if isinstance(size, int)]
    return prod(sizes) * tensor.dtype.nbytes if len(sizes) == len(tensor.shape) else 0
