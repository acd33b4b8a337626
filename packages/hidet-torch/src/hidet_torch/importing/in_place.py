"""Which updates of an input can be made where the input lies: those that nothing tells apart."""

from __future__ import annotations

import torch
from torch.utils._pytree import tree_leaves

aten = torch.ops.aten

COPY = aten.copy_.default

UPDATES = frozenset(
    [
        aten.index_copy.default,
        aten.index_add.default,
        aten.index_put.default,
        aten._unsafe_index_put.default,
        aten.slice_scatter.default,
        aten.select_scatter.default,
        aten.scatter.src,
        aten.scatter.value,
        aten.scatter_add.default,
    ]
)
"""Operators that change a part of their first argument."""


def updates_in_place(graph: torch.fx.Graph) -> set[torch.fx.Node]:
    """The updates whose result is written back into the input that they start from.

    What a model does to its cache comes as a new cache and a copy of all of it into the old one.
    Where nothing reads the old one after the update, only the part that changes needs writing.
    """
    found: set[torch.fx.Node] = set()
    for copy in graph.find_nodes(op="call_function", target=COPY):
        found.update(chain(copy, *copy.args[:2]))
    return found


def chain(copy: torch.fx.Node, target: torch.fx.Node, node: torch.fx.Node) -> list[torch.fx.Node]:
    """The updates from an input to what is copied into it; none if anything else reads between."""
    steps: list[torch.fx.Node] = []
    if target.op != "placeholder" or sum(user.target is COPY for user in target.users) != 1:
        return []
    while node is not target:
        base = node.args[0] if node.target in UPDATES else None
        if not isinstance(base, torch.fx.Node) or set(base.users) - {copy} != {node}:
            return []
        if sum(each is base for each in tree_leaves((node.args, node.kwargs))) != 1:
            return []
        steps.append(node)
        node = base
    return steps
