"""Sizes that change between calls, and choices between graphs that depend on values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from hidet_torch.backend import hidet


class Counting:
    """The backend, counting the graphs that it compiles."""

    def __init__(self) -> None:
        self.graphs = 0

    def __call__(self, graph_module: torch.fx.GraphModule, examples: Any) -> Any:
        self.graphs += 1
        return hidet(graph_module, examples, options={"fallback": "error"})


def attention(x: torch.Tensor) -> torch.Tensor:
    scores = x @ x.transpose(-1, -2) / x.shape[-2]
    seen = torch.arange(x.shape[-2])[:, None] >= torch.arange(x.shape[-2])
    return torch.softmax(scores.masked_fill(~seen, float("-inf")), -1) @ x


def check(fast: Callable[..., Any], *shape: int) -> None:
    x = torch.randn(shape)
    torch.testing.assert_close(fast(x), attention(x), rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_a_marked_size_is_compiled_once() -> None:
    backend = Counting()
    fast = torch.compile(attention, backend=backend)
    x = torch.randn(2, 4, 3)
    torch._dynamo.mark_dynamic(x, 1)
    fast(x)
    for rows in (7, 2, 40):
        check(fast, 2, rows, 3)
    assert backend.graphs == 1


@torch.no_grad()
def test_a_size_that_changes_is_made_dynamic() -> None:
    backend = Counting()
    fast = torch.compile(attention, backend=backend)
    for rows in (4, 7, 2, 40, 5, 9):
        check(fast, 2, rows, 3)
    assert backend.graphs == 2
    for batch in (3, 5, 8):
        check(fast, batch, 6, 3)
    assert backend.graphs == 3
    check(fast, 2, 1, 3)
    assert backend.graphs == 4, "one row is a case of its own: it broadcasts"


@torch.no_grad()
def test_all_sizes_dynamic_from_the_start() -> None:
    backend = Counting()
    fast = torch.compile(attention, backend=backend, dynamic=True)
    for shape in ((2, 4, 3), (3, 9, 5), (6, 2, 8)):
        check(fast, *shape)
    assert backend.graphs == 1


@torch.no_grad()
@pytest.mark.parametrize("cut", [lambda x: x.chunk(3), lambda x: x.split(x.shape[0] // 2 + 1)])
def test_sizes_that_pieces_share_are_only_known_at_a_call(
    cut: Callable[[torch.Tensor], tuple[torch.Tensor, ...]],
) -> None:
    def ends(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        first, *_, last = cut(x * 2)
        return first + 1, last.sum(0)

    backend = Counting()
    fast = torch.compile(ends, backend=backend, dynamic=True)
    for rows in (9, 17, 12, 129):
        x = torch.randn(rows, 3)
        torch.testing.assert_close(fast(x), ends(x))
    assert backend.graphs == 1


def chosen(x: torch.Tensor, which: torch.Tensor) -> torch.Tensor:
    return torch.cond(which, lambda y: y.sin() * 2, lambda y: y @ y.t() + 1, (x,)) + 1


def repeated(x: torch.Tensor, limit: torch.Tensor) -> torch.Tensor:
    count, found = torch._higher_order_ops.while_loop(
        lambda i, y: i < limit, lambda i, y: (i + 1, y * 2), (torch.zeros((), dtype=torch.int64), x)
    )
    return found + count


@torch.no_grad()
@pytest.mark.parametrize(("function", "values"), [(chosen, (True, False)), (repeated, (0, 3))])
def test_control_flow_is_compiled(function: Callable[..., Any], values: tuple[Any, ...]) -> None:
    fast = torch.compile(function, backend=hidet, fullgraph=True, options={"fallback": "error"})
    x = torch.randn(3, 3)
    for each in values:
        value = torch.tensor(each)
        torch.testing.assert_close(fast(x, value), function(x, value), rtol=1e-5, atol=1e-6)
