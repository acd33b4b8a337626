"""Errors against the same network with the same weights in float64."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


def reference(model: Callable[..., Any], inputs: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """The first output with every weight, input and intermediate in float64."""
    wide = copy.deepcopy(model)
    if isinstance(wide, torch.nn.Module):
        wide = one_by_one(wide.double())
    wide_inputs = [x.double() if x.is_floating_point() else x for x in inputs]
    with Widened(), torch.no_grad():
        return first_tensor(wide(*wide_inputs))


def one_by_one(model: torch.nn.Module) -> torch.nn.Module:
    """The model with experts that transformers calls one after the other: PyTorch's product of
    groups takes no float64."""
    config = getattr(model, "config", None)
    if getattr(config, "_experts_implementation", None) is not None:
        config._experts_implementation = "eager"
    return model


def relative_error(out: Any, expected: torch.Tensor) -> float:
    """The length of the difference over the length of what is expected; NaN stays NaN."""
    difference = first_tensor(out).double() - expected
    return float(difference.norm() / expected.norm())


def first_tensor(out: Any) -> torch.Tensor:
    """The tensor itself, or the first one in a tuple, list or model output."""
    while not isinstance(out, torch.Tensor):
        out = out[0]
    return out


class Widened(TorchDispatchMode):
    """Casts to float32 become casts to float64: models ask for float32 in norms and rotations."""

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("dtype") is torch.float32:
            kwargs["dtype"] = torch.float64
        return function(*args, **kwargs)
