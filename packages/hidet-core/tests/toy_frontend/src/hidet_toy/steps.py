"""What numpy runs, and how files come to it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hidet.frontend.running.execute import HostStep
from hidet.frontend.running.fallback import numpy_step

NUMPY: dict[str, Any] = {"double": lambda x: x * 2}
"""Operators that the compiler lacks."""


def step(name: str) -> HostStep:
    """A step by the function of that name."""
    return numpy_step(lambda x: [NUMPY[name](x)])


def steps(payloads: Mapping[str, bytes]) -> Mapping[str, HostStep]:
    """The host steps of a file, whose payloads are names of functions."""
    return {key: step(name.decode()) for key, name in payloads.items()}
