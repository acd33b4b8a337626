"""Views among the operators of a graph: a fallback region takes them itself, as eager PyTorch does.

A view that is compiled is a kernel that moves all elements wherever PyTorch reads its result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from hidet_torch.importing.facts import is_random

aten = torch.ops.aten


def unmoved(x: torch.Tensor, *, memory_format: torch.memory_format | None = None) -> torch.Tensor:
    """A copy that nobody can tell from the tensor: nothing is written to either."""
    return x


VIEWS: dict[Any, Callable[..., Any]] = {
    # What could be viewed as it was traced may lie otherwise here, and is copied then.
    aten.view.default: aten.reshape.default,
    aten._unsafe_view.default: aten.reshape.default,
    aten.clone.default: unmoved,
    **{
        each: each
        for each in (
            aten.alias.default,
            aten.detach.default,
            aten.expand.default,
            aten.permute.default,
            aten.select.int,
            aten.slice.Tensor,
            aten.squeeze.default,
            aten.squeeze.dim,
            aten.squeeze.dims,
            aten.t.default,
            aten.transpose.int,
            aten.unsqueeze.default,
            aten.view_as_complex.default,
            aten.view_as_real.default,
            aten._conj.default,
            aten._neg_view.default,
        )
    },
}
"""Operators that move nothing, each with what is called for it."""

VIEW_NAMES = frozenset(map(str, VIEWS))
"""What users call these operators."""

OF_MEMORY = frozenset([aten.as_strided.default, aten.view.dtype, aten.view_as_complex.default])
"""Operators whose results, or whether they work at all, depend on how an operand lies."""


def views_to(node: torch.fx.Node, allowed: Callable[[torch.fx.Node], bool]) -> list[torch.fx.Node]:
    """The views that lead to a node's operands, in an order in which they can be taken."""
    found: dict[torch.fx.Node, None] = {}
    for each in node.all_input_nodes:
        if is_view(each) and allowed(each):
            found |= dict.fromkeys([*views_to(each, allowed), each])
    return list(found)


def is_view(node: torch.fx.Node) -> bool:
    """Whether a node is a view of one tensor."""
    values = [each.meta.get("val") for each in node.all_input_nodes]
    return node.target in VIEWS and sum(isinstance(each, torch.Tensor) for each in values) == 1


def needs_strides(target: Any) -> bool:
    """Whether an operator has to find its operands lying as they were traced.

    Random numbers are drawn in the order of memory; what others define may ask for anything.
    """
    is_own = getattr(target, "namespace", "") in ("aten", "prims")
    return not is_own or target in OF_MEMORY or is_random(target)
