"""PyTorch's current streams, and whether somebody captures them into a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch


def stream_of(device: str) -> Callable[[], int]:
    """What gives PyTorch's current stream on a device."""
    if device == "cpu":
        return lambda: 0
    return partial(torch._C._cuda_getCurrentRawStream, torch.device(device).index or 0)


def is_captured(device: str) -> bool:
    """Whether what PyTorch is told to do on a device is recorded instead of done."""
    if device == "cpu":
        return False
    with torch.cuda.device(device):
        return torch.cuda.is_current_stream_capturing()
