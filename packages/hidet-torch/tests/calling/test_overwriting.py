"""Inputs that a model changes as a whole are written where they lie, after all that reads them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from hidet_torch.calling.run import CompiledCall
from hidet_torch.capture.aot import for_inference
from hidet_torch.capture.capture import compile_inference
from hidet_torch.settings import Settings


def compiled(function: Any, *args: torch.Tensor) -> tuple[list[Any], list[CompiledCall]]:
    """What a compiled function returns for arguments that it may change, and its calls."""
    made: list[CompiledCall] = []

    def backend(module: torch.fx.GraphModule, examples: Any) -> Any:
        return for_inference(module, examples, Settings(), compile_graph=keep)

    def keep(traced: Any, frozen: Any, settings: Any) -> Any:
        made.append(compile_inference(traced, frozen, settings))
        return made[-1]

    torch._dynamo.reset()
    with torch.no_grad():
        found = torch.compile(function, backend=backend)(*args)
    return (list(found) if isinstance(found, tuple) else [found]), made


def agree(function: Any, *args: torch.Tensor) -> list[CompiledCall]:
    """The calls of a function that gives and changes what it does in eager, three times over."""
    own, theirs = [x.clone(memory_format=torch.preserve_format) for x in args], list(args)
    calls: list[CompiledCall] = []
    for _ in range(3):
        expected = function(*own)
        expected = list(expected) if isinstance(expected, tuple) else [expected]
        found, made = compiled(function, *theirs)
        calls += made
        for x, y in zip([*found, *theirs], [*expected, *own], strict=True):
            torch.testing.assert_close(x, y)
    return calls


def step(x: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
    y = x * length
    length.add_(1)
    return y


def test_a_length_that_others_read_is_counted_on_in_place() -> None:
    calls = agree(step, torch.randn(7), torch.tensor(3))
    assert all(not each.interface.mutations for each in calls)
    assert all(len(each.interface.updates) == 1 for each in calls)


def test_what_is_read_before_and_after_is_right() -> None:
    def both(x: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
        return step(x, length) + length

    agree(both, torch.randn(7), torch.tensor(3))


def test_many_lengths_are_written_without_copies() -> None:
    def steps(x: torch.Tensor, *lengths: torch.Tensor) -> torch.Tensor:
        for each in lengths:
            x = step(x, each)
        return x

    calls = agree(steps, torch.randn(7), *map(torch.tensor, range(9)))
    assert all(not each.interface.mutations for each in calls)


def test_what_lies_with_gaps_is_changed_too() -> None:
    agree(step, torch.randn(7), torch.arange(14)[::2])
    agree(step, torch.randn(5, 7), torch.randn(7, 5).t())


def test_what_is_returned_too_is_right() -> None:
    def grown(n: torch.Tensor) -> Any:
        n.add_(1)
        return n * 2, n

    def replaced(n: torch.Tensor, x: torch.Tensor) -> Any:
        new = x * 2
        n.copy_(new)
        return new

    agree(grown, torch.arange(5))
    agree(replaced, torch.zeros(5), torch.randn(5))


def test_several_that_become_the_same() -> None:
    def followed(last: torch.Tensor, state: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        state.add_(x)
        last.copy_(state)
        return state * 2

    agree(followed, torch.randn(7), torch.randn(7), torch.randn(7))


def test_two_that_change_places() -> None:
    def swap(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        old = a.clone()
        a.copy_(b)
        b.copy_(old)
        return a + 2 * b

    agree(swap, torch.randn(33), torch.randn(33))


@pytest.mark.parametrize("shape", [(), (1,), (129,), (3, 7)])
def test_what_is_rolled_reads_all_before_it_writes(shape: tuple[int, ...]) -> None:
    def rolled(x: torch.Tensor) -> torch.Tensor:
        y = x.sum()
        x.copy_(x.roll(1) + 1)
        return y

    agree(rolled, torch.randn(shape))


def test_an_update_of_what_is_overwritten_later() -> None:
    def both(cache: torch.Tensor, new: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        cache.index_copy_(0, at, new)
        y = cache.sum()
        cache.mul_(2)
        return y

    agree(both, torch.randn(9, 3), torch.randn(2, 3), torch.tensor([1, 7]))
