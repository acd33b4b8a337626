"""PyTorch's libraries as they are compared: at their best, without precision that hidet keeps."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn


def set_libraries() -> None:
    """Let cuDNN choose its fastest algorithm; float32 stays float32 on tensor cores too."""
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False


def in_best_layout(
    model: Callable[..., Any], inputs: tuple[torch.Tensor, ...]
) -> tuple[Callable[..., Any], tuple[torch.Tensor, ...]]:
    """Convolutions on a GPU with their channels last, where cuDNN is fastest."""
    images = inputs[0].is_cuda and inputs[0].ndim == 4
    if not images or not isinstance(model, nn.Module) or inputs[0].dtype == torch.float32:
        return model, inputs
    turned = copy.deepcopy(model).to(memory_format=torch.channels_last)
    return turned, tuple(x.to(memory_format=torch.channels_last) for x in inputs)
