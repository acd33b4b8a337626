"""What an importer asks of fx graphs and their values, and what it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from hidet import ops
from hidet.errors import NotYet
from hidet.graph import Tensor
from hidet_torch.memory.tensors import device_of

CHECKS = (torch.ops.aten._assert_tensor_metadata.default,)
"""Checks of what the graph was traced for; they compute nothing."""
ASSERTIONS = (torch.ops.aten._assert_async.msg, torch.ops.aten._assert_async.default)
"""What a model asserts of the values of a call."""
STRIDED = (torch.ops.aten.as_strided.default, torch.ops.aten.as_strided_scatter.default)
"""Operators on the memory of their first operand; their converters get the traced tensor too."""


def rearranged(x: Tensor, order: Sequence[int]) -> Tensor:
    """The tensor with its axes in another order; itself if they are in it."""
    return x if tuple(order) == tuple(range(x.ndim)) else ops.permute(x, tuple(order))


def main_device(graph: torch.fx.Graph) -> str:
    """The one device of a graph's tensors; numbers on the CPU may stand beside it."""
    found: dict[str, None] = {}
    for node in graph.nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor) and value.ndim:
            found[device_of(value.device)] = None
    chosen = [each for each in found if each != "cpu"]
    if len(chosen) > 1:
        raise NotYet(f"a graph on {' and '.join(chosen)}")
    return chosen[0] if chosen else "cpu"


def require_plain(value: torch.Tensor) -> None:
    """Raise unless the tensor is dense, with elements at strides."""
    if value.layout is not torch.strided or value.is_quantized:
        raise NotYet(f"a tensor of layout {value.layout}")


def require_device(value: torch.Tensor, device: str) -> None:
    """Raise unless the tensor is on the graph's device."""
    if device_of(value.device) != device and value.ndim:
        raise NotYet(f"a tensor on {value.device} in a graph on {device}")


def is_random(target: Any) -> bool:
    """Whether an operator draws random numbers."""
    return torch.Tag.nondeterministic_seeded in getattr(target, "tags", ())


def has_effects(target: Any) -> bool:
    """Whether PyTorch keeps an operator in its place for what it does besides its results."""
    return target is torch.ops.higher_order.with_effects


def is_token(node: torch.fx.Node) -> bool:
    """Whether a placeholder only orders operators that have effects: nobody gives it a value."""
    return bool(node.users) and all(
        has_effects(user.target) and user.args[0] is node for user in node.users
    )


def is_complex(node: torch.fx.Node) -> bool:
    """Whether a node's value is complex."""
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.is_complex()
