"""Checks of results that raise: PyTorch's own function runs between kernels, and computes nothing.

`torch.linalg.inv` and its like check by it whether matrices are singular. AOTAutograd keeps it in
its place by a chain of tokens; here the host steps with effects keep their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from hidet.frontend.running.staying import HostCall
from hidet_torch.importing.facts import has_effects
from hidet_torch.importing.foreign import ForeignCall, ForeignStep, Instruction, Slot

RAISES = torch.ops.aten._linalg_check_errors.default


def is_check(node: torch.fx.Node) -> bool:
    """Whether a node raises by the integers that an operator gave, and does nothing else."""
    return node.target is RAISES or (has_effects(node.target) and node.args[1] is RAISES)


def check_of(node: torch.fx.Node, values: Mapping[Any, Any]) -> HostCall:
    """The call of PyTorch's function, with its own message and type of error."""
    info, *rest = node.args if node.target is RAISES else node.args[2:]
    arguments = [Slot(0, is_complex=False), *rest]
    call = ForeignCall(1, (Instruction(RAISES, arguments, dict(node.kwargs), ()),), ())
    return HostCall(str(RAISES), (values[info],), (), ForeignStep(call), effects=True)
