from __future__ import annotations

import pytest
import torch
from torch import nn

import hidet_torch
from hidet.errors import BadArgument
from hidet_torch.weights.overlaps import all_apart, overlap


class Writes(nn.Module):
    """Changes its first input and reads both."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x * 2 + y


@pytest.fixture(scope="module")
def writes() -> hidet_torch.CompiledModel:
    return hidet_torch.compile(Writes(), torch.randn(4, 3), torch.randn(4, 3))


def test_columns_in_turns_and_neighbours_are_apart() -> None:
    whole = torch.zeros(4, 6)
    left, right, even, odd = whole[:, :3], whole[:, 3:], whole[:, ::2], whole[:, 1::2]
    assert not overlap(left, right)
    assert not overlap(even, odd)
    assert not overlap(whole[:2], whole[2:])
    assert not overlap(whole[:0], whole)
    assert overlap(left, even)
    assert overlap(whole, whole)
    assert overlap(whole[0], whole[:, 5])
    assert all_apart([whole[:2], torch.zeros(3), whole[2:]])
    assert not all_apart([left, torch.zeros(3), right])


def test_inputs_that_share_what_is_written_are_refused(writes: hidet_torch.CompiledModel) -> None:
    memory = torch.randn(18)
    one, two = memory[:12].view(4, 3), memory[6:].view(4, 3)
    before = memory.clone()
    with pytest.raises(BadArgument, match="writes to input x, and input y lies in the same memory"):
        writes(one, two)
    with pytest.raises(BadArgument, match="lies in the same memory"):
        writes(one, one)
    assert torch.equal(memory, before)


def test_a_model_is_not_captured_with_such_inputs() -> None:
    x = torch.randn(4, 3)
    with pytest.raises(BadArgument, match="writes to input x, and input y lies in the same memory"):
        hidet_torch.compile(Writes(), x, y=x)


def test_inputs_in_turns_in_one_memory_are_taken(writes: hidet_torch.CompiledModel) -> None:
    memory = torch.randn(4, 2, 3)
    again = memory.clone()
    found = writes(memory[:, 0], memory[:, 1])
    torch.testing.assert_close(found, Writes()(again[:, 0], again[:, 1]))
    torch.testing.assert_close(memory, again)


def test_inputs_that_are_only_read_may_share_memory() -> None:
    class Reads(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x * 2 + y

    memory = torch.randn(8)
    reads = hidet_torch.compile(Reads(), torch.randn(6), torch.randn(6))
    torch.testing.assert_close(reads(memory[:6], memory[2:]), memory[:6] * 2 + memory[2:])
