"""Values used more than once in a statement get a name.

Expressions are a graph, text is a tree: without names its size could double with every step. What a
condition guards is only moved out of it if evaluating it is harmless anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hidet.ir.certain import safe_nodes, unconditional
from hidet.ir.expr import (
    Address,
    Builtin,
    Comparison,
    Const,
    Expr,
    Lane,
    Load,
    Math,
    Pack,
    Select,
    Splat,
    Var,
    is_vector,
)
from hidet.ir.walk import postorder
from hidet.types import PointerType, TensorType

TEXT = 6
"""Shared values of fewer nodes are cheaper to read twice than to look up."""

DEPTH = 48
"""Nesting at which a value gets a name though used once: parsers and people have limits."""

Bindings = list[tuple[Var, Expr]]


def share(roots: Sequence[Expr]) -> tuple[Bindings, list[Expr]]:
    """Names to introduce, in order, and the expressions written with them."""
    nodes = [n for n in postorder(list(roots)) if isinstance(n, Expr)]
    uses = Counter(child for n in nodes for child in n.children())
    uses.update(roots)
    if len(nodes) <= DEPTH and not any(uses[n] > 1 and nameable(n) for n in nodes):
        return [], list(roots)
    always, harmless = unconditional(roots), safe_nodes(nodes)
    new: dict[Expr, Expr] = {}
    size: dict[Expr, int] = {}
    depth: dict[Expr, int] = {}
    bindings: Bindings = []
    for n in nodes:
        below = [child for child in n.children() if isinstance(child, Expr)]
        size[n] = 1 + sum(size[child] for child in below)
        depth[n] = 1 + max((depth[child] for child in below), default=0)
        new[n] = n.map_children(new.__getitem__)
        worthy = uses[n] > 1 and (heavy(n) or size[n] > TEXT)
        if nameable(n) and (worthy or depth[n] > DEPTH) and (n in always or n in harmless):
            name = Var("t", n.type)
            bindings.append((name, new[n]))
            new[n] = name
            size[n] = depth[n] = 1
    return bindings, [new[root] for root in roots]


def nameable(e: Expr) -> bool:
    """Whether a name for `e` would be more than another name."""
    if isinstance(e, Var | Const | Builtin | Lane | Splat) or isinstance(
        e.type, TensorType | PointerType
    ):
        return False
    if isinstance(e, Comparison) and is_vector(e):
        return False  # only ever the condition of a selection
    return not isinstance(e, Address | Pack)


def heavy(e: Expr) -> bool:
    """Whether writing `e` twice would rely on the compiler to compute it once."""
    return isinstance(e, Load | Math | Select) or is_vector(e)
