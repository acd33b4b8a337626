"""What a case is: a function of PyTorch and inputs for it, random and the same every time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

aten = torch.ops.aten
i64, i32, i8, u8 = torch.int64, torch.int32, torch.int8, torch.uint8


@dataclass(frozen=True)
class Case:
    name: str
    function: Callable[..., Any]
    inputs: tuple[Any, ...]


CASES: list[Case] = []


def case(name: str, function: Callable[..., Any], *inputs: Any) -> None:
    CASES.append(Case(name, function, inputs))


random = torch.Generator().manual_seed(0)


def x(*shape: int, low: float = -3, high: float = 3, dtype: torch.dtype = torch.float32) -> Any:
    return (torch.rand(shape, generator=random) * (high - low) + low).to(dtype)


def n(*shape: int, low: int = -9, high: int = 9, dtype: torch.dtype = i64) -> Any:
    return torch.randint(low, high, shape, generator=random).to(dtype)


def b(*shape: int) -> Any:
    return n(*shape) > 0


NAN = torch.tensor([1.0, float("nan"), -2.0, 0.0, float("inf"), float("-inf")])
