"""What tests of torch.compile(backend="hidet") do again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from hidet_torch import dynamo_config
from hidet_torch.backend import hidet


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Each test begins with nothing compiled, the same random numbers and no defaults."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    yield
    dynamo_config.reset()


def compiled(function: Callable[..., Any], **given: Any) -> Any:
    """The function compiled as one graph."""
    return torch.compile(function, backend=hidet, fullgraph=True, **given)


def close(found: Any, expected: Any) -> None:
    """Assert that results in float32 agree."""
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def model() -> nn.Module:
    """A small one, the same each time, of inputs with rows of 8."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4)).eval()
