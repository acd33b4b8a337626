"""Programs of updates made at random: inputs are changed, in parts too, copied into each other,
read in between and returned."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
import torch
from torch import nn

import hidet_torch
from hidet_torch.backend import hidet

Step = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], Any]
STEPS: tuple[Step, ...] = (
    lambda x, y, at: x.copy_(y),
    lambda x, y, at: x.add_(y),
    lambda x, y, at: x.mul_(2),
    lambda x, y, at: x.copy_(x.flip(0) + y),
    lambda x, y, at: x.index_copy_(0, at, y[:1] + 1),
    lambda x, y, at: x.index_fill_(0, at, 2),
    lambda x, y, at: x[1:3].copy_(y[:2] + 1),
    lambda x, y, at: x[:2].add_(y[2:]),
    lambda x, y, at: x[0].copy_(y.amax(0) - 1),
)
WEIGHTS = (6, 1, 1, 1, 1, 1, 1, 1, 1)
"""Copies leave several inputs with one value, which is the most that can be told apart wrongly."""
COUNT = 3


class Program(nn.Module):
    """A few updates of some inputs; what is read after them, and an input perhaps, come out."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        random = Random(seed)
        self.steps = [
            (random.choices(STEPS, WEIGHTS)[0], *(random.randrange(COUNT) for _ in range(3)))
            for _ in range(random.randint(2, 4))
        ]
        self.returned = random.sample(range(COUNT), random.choice((0, 0, 1)))

    def forward(self, at: torch.Tensor, *given: torch.Tensor) -> list[torch.Tensor]:
        found = []
        for step, x, y, read in self.steps:
            step(given[x], given[y], at)
            found.append(given[read].sum(0))
        return [*found[::2], *(given[each] for each in self.returned)]


def inputs(seed: int) -> list[torch.Tensor]:
    torch.manual_seed(seed)
    return [torch.tensor([seed % 4]), *(torch.randn(4, 3) for _ in range(COUNT))]


@pytest.mark.parametrize("seed", range(20, 28))
@pytest.mark.parametrize("way", ["torch.compile", "hidet_torch.compile"])
def test_inputs_and_results_are_those_of_eager(seed: int, way: str) -> None:
    program, own, theirs = Program(seed), inputs(seed), inputs(seed)
    torch._dynamo.reset()
    with torch.no_grad():
        fast: Any = (
            torch.compile(program, backend=hidet, options={"fallback": "error"})
            if way == "torch.compile"
            else hidet_torch.compile(program, *inputs(seed))
        )
        for _ in range(2):
            found, expected = fast(*theirs), program(*own)
            torch.testing.assert_close([*found, *theirs], [*expected, *own])
