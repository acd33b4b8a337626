"""What runs a PyTorch model besides us, for `hidet bench`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch


def systems(model: Callable[..., Any]) -> Mapping[str, Callable[..., Any]]:
    """PyTorch's own operators, one by one, and its compiler inductor; neither records gradients."""
    return {
        "eager": torch.no_grad()(model),
        "inductor": torch.no_grad()(torch.compile(model)),
    }
