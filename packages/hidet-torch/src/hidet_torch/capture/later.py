"""What is loaded when a graph is met that is not known yet: most processes know theirs."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

AOT = "hidet_torch.capture.aot"


def for_inference(*args: Any, **named: Any) -> Callable[..., Any]:
    """`hidet_torch.capture.aot.for_inference`."""
    made: Callable[..., Any] = import_module(AOT).for_inference(*args, **named)
    return made


def for_training(*args: Any) -> Callable[..., Any]:
    """`hidet_torch.capture.aot.for_training`."""
    made: Callable[..., Any] = import_module(AOT).for_training(*args)
    return made
