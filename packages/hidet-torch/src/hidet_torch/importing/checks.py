"""Checks of values that raise: a step between kernels, run by PyTorch, which computes nothing.

`torch.linalg.inv` and its like check by one whether matrices are singular: AOTAutograd keeps it in
its place by a chain of tokens; here the host steps with effects keep their order.
What a model asserts of values (`assert` in a compiled function, `F.one_hot`) is such a step too.
Others, such as `torch.segment_reduce`, have a check inside of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from hidet.frontend.running.fallback import HostCall
from hidet_torch.importing.facts import ASSERTIONS, has_effects
from hidet_torch.importing.foreign import ForeignCall, ForeignStep, Instruction, Slot
from hidet_torch.importing.host_call import HostCalls

aten = torch.ops.aten
RAISES = aten._linalg_check_errors.default
SEGMENTS = aten.segment_reduce.default


def is_check(node: torch.fx.Node) -> bool:
    """Whether a node raises by the values of a tensor, and does nothing else."""
    alone = node.target is RAISES or node.target in ASSERTIONS
    return alone or (has_effects(node.target) and node.args[1] is RAISES)


def check_of(node: torch.fx.Node, calls: HostCalls) -> HostCall:
    """The call of PyTorch's function, with its own message and type of error."""
    if node.target in ASSERTIONS:
        return raising(calls, node.target, *node.args)
    info, *rest = node.args if node.target is RAISES else node.args[2:]
    return raising(calls, RAISES, info, *rest, **node.kwargs)


def check_of_values(node: torch.fx.Node, calls: HostCalls) -> HostCall | None:
    """What PyTorch checks of the values of an operator, which kernels do not; None: nothing."""
    data: Any = node.args[0] if node.args else None
    lengths = node.kwargs.get("lengths")
    if node.target is SEGMENTS and lengths is not None and not node.kwargs.get("unsafe"):
        return raising(calls, require_lengths, lengths, calls.number(data.meta["val"].shape[0]))
    if node.target is aten.cholesky.default:
        return raising(calls, require_factors, node)
    return None


def raising(calls: HostCalls, check: Any, values: Any, *rest: Any, **named: Any) -> HostCall:
    """The call of a function that raises by the values of one tensor."""
    arguments = [Slot(0, is_complex=False), *rest]
    call = ForeignCall(1, (Instruction(check, arguments, named, ()),), ())
    name = str(check) if isinstance(check, torch._ops.OpOverload) else check.__name__
    return HostCall(name, (calls.values[values],), (), ForeignStep(call), effects=True)


def only_asserted(calls: Iterable[HostCall]) -> list[str] | None:
    """What a model asserts, if calls check nothing else; None if they do more."""
    found = []
    for call in calls:
        for each in call.step.call.instructions if isinstance(call.step, ForeignStep) else ():
            if each.target not in ASSERTIONS:
                return None
            found.append(str(each.args[1]) if len(each.args) > 1 else "that a tensor is true")
    return found


def require_factors(lower: torch.Tensor) -> None:
    """Raise as `torch.cholesky` does unless triangular factors are those of definite matrices."""
    wrong = ~(lower.diagonal(0, -2, -1) > 0)
    if wrong.any():
        info = torch.where(wrong.any(-1), wrong.int().argmax(-1) + 1, 0).int()
        RAISES(info, "cholesky", is_matrix=lower.ndim == 2)


def require_lengths(lengths: torch.Tensor, rows: int) -> None:
    """Raise as `torch.segment_reduce` does unless lengths are those of segments of so many rows."""
    if lengths.numel() and int(lengths.min()) < 0:
        raise RuntimeError("lengths contains negative value!")
    if int(lengths.sum()) != rows:
        raise RuntimeError(
            f"segment_reduce(): lengths add up to {int(lengths.sum())}, and there are {rows} rows"
        )
