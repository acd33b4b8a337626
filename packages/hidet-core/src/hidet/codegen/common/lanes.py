"""Vector arithmetic lane by lane, where the language has no vectors of that type."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

from hidet.ir.expr import (
    Binary,
    Cast,
    Comparison,
    Expr,
    Lane,
    Math,
    Pack,
    Select,
    Splat,
    Unary,
    is_vector,
)
from hidet.ir.node import Node
from hidet.ir.walk import postorder, rebuild
from hidet.types import VectorType

Native: TypeAlias = Callable[[Expr], bool]
"""Whether the language computes a vector expression as it stands, given that its operands are."""


def spread(root: Expr, native: Native) -> Expr:
    """`root` with every vector operation that is not `native` as a pack of scalar ones."""

    def change(n: Node) -> Node:
        if isinstance(n, Lane):
            return lane(n.vector, n.lane, native)
        if not isinstance(n, Expr) or not is_vector(n) or native(n):
            return n
        # A comparison waits: the language may have it as the condition of a vector selection.
        return packed(n, native) if lanewise(n) and not isinstance(n, Comparison) else n

    if not any(map(is_wide, postorder(root))):
        return root
    found = rebuild(root, change)
    return packed(found, native) if isinstance(found, Comparison) and is_vector(found) else found


def is_wide(n: Node) -> bool:
    """Whether a node makes a vector, or takes one apart."""
    return isinstance(n, Lane) or (isinstance(n, Expr) and is_vector(n))


def packed(e: Expr, native: Native) -> Expr:
    """The vector `e` as a pack of its lanes."""
    count = cast(VectorType, e.type).lanes
    return Pack(tuple(lane(e, i, native) for i in range(count)))


def lanewise(e: Expr) -> bool:
    """Whether `e` computes each lane from the same lane of its operands."""
    if isinstance(e, Select):
        return is_vector(e.condition)
    return isinstance(e, Unary | Binary | Cast | Math)


def lane(e: Expr, i: int, native: Native) -> Expr:
    """Lane `i` of the vector `e`."""
    if isinstance(e, Pack):
        return e.lanes[i]
    if isinstance(e, Splat):
        return e.value
    if not lanewise(e) or native(e):
        return Lane(e, i)
    match e:
        case Cast(value, to):
            return Cast(lane(value, i, native), to)
        case Math(name, args, of):
            return Math(name, tuple(lane(arg, i, native) for arg in args), of)
    return e.map_children(lambda child: lane(child, i, native) if is_vector(child) else child)
