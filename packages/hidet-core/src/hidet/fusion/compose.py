"""Several operators' definitions as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hidet.compute import Grid, Input
from hidet.graph.tensor import Node, Tensor


def compose(nodes: Sequence[Node], known: Mapping[Tensor, Grid]) -> dict[Tensor, Grid]:
    """A grid for each tensor that `nodes` make, over the grids of the tensors they read."""
    grids: dict[Tensor, Grid] = dict(known)
    for node in nodes:
        defined = node.op.define(*node.op.arrange([grids[each] for each in node.inputs]))
        outputs = defined if isinstance(defined, tuple) else (defined,)
        grids.update(zip(node.outputs, outputs, strict=True))
    return grids


def operands(tensors: Sequence[Tensor]) -> dict[Tensor, Input]:
    """An operand of a definition for each tensor."""
    return {each: Input(f"x{position}", each.type) for position, each in enumerate(tensors)}


def leading_to(tensors: Sequence[Tensor], nodes: Sequence[Node]) -> list[Node]:
    """Those of `nodes`, given in order, that `tensors` need."""
    needed = set(tensors)
    chain = []
    for node in reversed(nodes):
        if needed & set(node.outputs):
            needed |= set(node.inputs)
            chain.append(node)
    return chain[::-1]
