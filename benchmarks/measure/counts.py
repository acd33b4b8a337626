"""What is counted: operators compiled or left to PyTorch, kernels in a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

import hidet_torch
from benchmarks.measure.timing import Call


def operators(model: Callable[..., Any], inputs: tuple[torch.Tensor, ...]) -> tuple[int, int]:
    """How many operators hidet compiles, and how many it leaves to PyTorch."""
    coverage = hidet_torch.explain(model, *inputs).coverage
    return coverage.compiled.total(), sum(len(uses) for uses in coverage.left.values())


def kernels(call: Call) -> int:
    """How many kernels and copies one call runs on the GPU, inside CUDA graphs too."""
    call()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        call()
        torch.cuda.synchronize()
    return sum(event.device_type == DeviceType.CUDA for event in recorded.events())
