"""Sizes that depend on data in PyTorch's graphs: what tells them, and what is asserted of them."""

from __future__ import annotations

from typing import Any

import sympy
import torch

from hidet import ops
from hidet.errors import NotYet
from hidet.graph import Tensor
from hidet.graph.data_sizes import Sign
from hidet.ops.elementwise.size_relations import asserted
from hidet.types import Size
from hidet_torch.importing.sizes import Sizes

aten = torch.ops.aten
READS = (aten._local_scalar_dense.default, aten.item.default)
"""What makes a number of Python's of a tensor of one element."""
ASSERTS = (
    aten._assert_scalar.default,
    aten.sym_constrain_range.default,
    aten.sym_constrain_range_for_size.default,
)
"""What says which numbers they may be: ranges are those of PyTorch's symbols."""


RELATIONS: dict[type, tuple[Sign, bool, int]] = {
    sympy.Eq: ("==", False, 0),
    sympy.Le: ("<=", False, 0),
    sympy.Lt: ("<=", False, 1),
    sympy.Ge: ("<=", True, 0),
    sympy.Gt: ("<=", True, 1),
}
"""The sign of a relation of whole numbers, whether its sides change places, and what is added to
the one that is less."""


def size_from(tensor: Tensor, value: Any) -> Size:
    """The element of a tensor that PyTorch reads as `value`, a number that may be a size.

    Each call checks its range. Raises NotYet for a number of which PyTorch does not know that it is
    no size below zero, and for one that is no integer.
    """
    if not isinstance(value, torch.SymInt) or not isinstance(value.node.expr, sympy.Symbol):
        raise NotYet("a number that only data tell and that is no size")
    low, high = limits(value)
    if low < 0:
        raise NotYet(
            f"the number {value}, which may be below zero, so that it is no size",
            help="say `torch._check_is_size(n)`, or `torch._check(n >= 0)`, after `n = x.item()`",
        )
    return ops.size_from(tensor, str(value.node.expr), low, high)


def limits(value: torch.SymInt) -> tuple[int, int | None]:
    """What a symbol may be, as PyTorch has found out by what was asserted of it."""
    found = value.node.shape_env.bound_sympy(value.node.expr)
    low = int(found.lower) if isinstance(found.lower, sympy.Integer) else -1
    high = int(found.upper) if isinstance(found.upper, sympy.Integer) else None
    return low, None if high is None or high > 2**31 - 1 else high


BEYOND = 2**63
"""What no size is as large as."""


def note(condition: Any, sizes: Sizes) -> None:
    """Let calls check what PyTorch asserts of data-dependent sizes.

    What is no relation of sizes, or of some that no graph has, is left to PyTorch's ranges.
    """
    if not isinstance(condition, torch.SymBool) or type(condition.node.expr) not in RELATIONS:
        return
    relation = condition.node.expr
    if any(abs(int(each)) >= BEYOND for each in relation.atoms(sympy.Integer)):
        return  # PyTorch's own bound of a multiple of a size
    sign, turned, apart = RELATIONS[type(relation)]
    try:
        left, right = (sizes.convert(each) for each in relation.args)
    except NotYet:
        return
    if turned:
        left, right = right, left
    asserted(left + apart, sign, right)


def is_about_sizes(node: torch.fx.Node) -> bool:
    """Whether a node asserts something of sizes, or computes what is asserted."""
    return node.target in ASSERTS or isinstance(node.meta.get("val"), torch.SymBool)
