"""Checks of values that raise: a step between kernels, run by PyTorch, which computes nothing.

`torch.linalg.inv` and its like check by one whether matrices are singular: AOTAutograd keeps it in
its place by a chain of tokens; here the host steps with effects keep their order.
`torch.segment_reduce` has another one inside of it.
"""

from __future__ import annotations

from typing import Any

import torch

from hidet.frontend.running.staying import HostCall
from hidet_torch.importing.facts import has_effects
from hidet_torch.importing.foreign import ForeignCall, ForeignStep, Instruction, Slot
from hidet_torch.importing.host_call import HostCalls

RAISES = torch.ops.aten._linalg_check_errors.default
SEGMENTS = torch.ops.aten.segment_reduce.default


def is_check(node: torch.fx.Node) -> bool:
    """Whether a node raises by the integers that an operator gave, and does nothing else."""
    return node.target is RAISES or (has_effects(node.target) and node.args[1] is RAISES)


def check_of(node: torch.fx.Node, calls: HostCalls) -> HostCall:
    """The call of PyTorch's function, with its own message and type of error."""
    info, *rest = node.args if node.target is RAISES else node.args[2:]
    return raising(calls, RAISES, info, *rest, **node.kwargs)


def check_of_values(node: torch.fx.Node, calls: HostCalls) -> HostCall | None:
    """What PyTorch checks of the values of an operator, which kernels do not; None: nothing."""
    lengths = node.kwargs.get("lengths")
    if node.target is not SEGMENTS or lengths is None or node.kwargs.get("unsafe"):
        return None
    data: Any = node.args[0]
    return raising(calls, require_lengths, lengths, calls.number(data.meta["val"].shape[0]))


def raising(calls: HostCalls, check: Any, values: Any, *rest: Any, **named: Any) -> HostCall:
    """The call of a function that raises by the values of one tensor."""
    arguments = [Slot(0, is_complex=False), *rest]
    call = ForeignCall(1, (Instruction(check, arguments, named, ()),), ())
    return HostCall(str(check), (calls.values[values],), (), ForeignStep(call), effects=True)


def require_lengths(lengths: torch.Tensor, rows: int) -> None:
    """Raise as `torch.segment_reduce` does unless lengths are those of segments of so many rows."""
    if lengths.numel() and int(lengths.min()) < 0:
        raise RuntimeError("lengths contains negative value!")
    if int(lengths.sum()) != rows:
        raise RuntimeError(
            f"segment_reduce(): lengths add up to {int(lengths.sum())}, and there are {rows} rows"
        )
