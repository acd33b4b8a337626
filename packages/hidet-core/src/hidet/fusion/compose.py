"""Several operators' definitions as one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from hidet import options
from hidet.compute import Grid, Input
from hidet.fusion.traits import decides
from hidet.fusion.unrounded import Unrounded
from hidet.graph.tensor import Node, Tensor
from hidet.ops.tensors.cast import Cast


def compose(
    nodes: Sequence[Node],
    known: Mapping[Tensor, Grid],
    rounded: Collection[Tensor] = (),
    unrounded: Unrounded | None = None,
) -> dict[Tensor, Grid]:
    """A grid for each tensor that `nodes` make, over the grids of the tensors they read.

    Narrow floats that one reads of another stay float32 in between, but for those of tensors in
    `rounded`; `unrounded` knows what of `known` may be read so.
    """
    grids: dict[Tensor, Grid] = dict(known)
    free = Unrounded() if unrounded is None else unrounded
    free.know(grids.values())
    kept = set(rounded)
    for node in nodes:
        given = [grids[each] for each in node.inputs]
        defined = node.op.define(*node.op.arrange(given))
        outputs = defined if isinstance(defined, tuple) else (defined,)
        if not decides(node.op):
            outputs = tuple(free.read_wide(each, given) for each in outputs)
        for tensor, grid in zip(node.outputs, outputs, strict=True):
            grids[tensor] = grid
            # What gives its operand as it is leaves that as it is.
            if grid not in free.made and tensor not in kept and rounding_is_free(node):
                free.let_free(grid)
        free.know(outputs)
    return grids


def rounding_is_free(node: Node) -> bool:
    """Whether nobody asked for the rounding of what an operator gives."""
    return not (options.round_each.get() or isinstance(node.op, Cast))


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
