"""What PyTorch runs: one call for neighbours, on operands as eager PyTorch would have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.special import bessel_j0, bessel_j1
from tracing import imported

import hidet_torch
from hidet.frontend.running.execute import View
from hidet.frontend.running.fallback import HostCall
from hidet.graph import Foreign
from hidet_torch.importing.foreign import ForeignStep, may_stay

pytestmark = pytest.mark.filterwarnings("ignore::hidet.frontend.importing.report.FallbackWarning")


class Calling(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def targets(call: HostCall) -> list[str]:
    assert isinstance(call.step, ForeignStep)
    return [str(each.target) for each in call.step.call.instructions]


def neighbours(x: torch.Tensor) -> torch.Tensor:
    a = bessel_j0(x)
    return bessel_j1(a) + bessel_j0(a)


def viewed(x: torch.Tensor) -> torch.Tensor:
    return bessel_j0(x.relu().permute(0, 2, 1).reshape(-1, 5)[:, None]) * 2


def paired(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return bessel_j0(torch.cat([x, y.t()])), bessel_j1(x)


CASES = [
    (neighbours, (torch.randn(3, 4),)),
    (viewed, (torch.randn(2, 5, 3),)),
    (paired, (torch.randn(3, 4), torch.randn(4, 3))),
]


@pytest.mark.parametrize(("function", "inputs"), CASES, ids=lambda e: getattr(e, "__name__", ""))
def test_values_are_eager_ones(
    function: Callable[..., Any], inputs: tuple[torch.Tensor, ...]
) -> None:
    fast = hidet_torch.compile(Calling(function), *inputs)
    for _ in range(2):
        torch.testing.assert_close(fast(*inputs), function(*inputs))
        inputs = tuple(torch.randn_like(each) for each in inputs)


def test_neighbours_are_one_call() -> None:
    found = imported(neighbours, torch.randn(3, 4))
    (call,) = found.calls.values()
    assert call.name == "aten.special_bessel_j0.default and 2 more"
    assert len(call.gives) == 2
    assert len(found.graph.nodes) == 2


def test_views_are_no_kernels() -> None:
    """The operand is read where it lies, in rows; PyTorch turns it."""
    found = imported(viewed, torch.randn(2, 5, 3))
    (call,) = found.calls.values()
    assert call.operands[0].shape == (2, 5, 3)
    assert targets(call)[0] == "aten.permute.default"
    assert targets(call)[-1] == "aten.special_bessel_j0.default"
    assert {type(each.op).__name__ for each in found.graph.nodes} <= {
        "Relu", "Foreign", "Full", "Multiply",
    }  # fmt: skip


def test_random_numbers_are_drawn_in_the_order_of_memory() -> None:
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    function = lambda x: torch.rand_like(x) + x
    fast = hidet_torch.compile(Calling(function), x)
    torch.manual_seed(0)
    expected = function(x)
    torch.manual_seed(0)
    torch.testing.assert_close(fast(x), expected)


def test_sizes_that_calls_bring_are_known_within_a_region() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return bessel_j0(bessel_j0(x.t()).reshape(-1)[: x.shape[0] + 1]) * 2

    fast = torch.compile(function, backend="hidet", dynamic=True)
    with torch.no_grad():
        for rows in (3, 7, 2):
            given = torch.randn(rows, 4)
            torch.testing.assert_close(fast(given), function(given))


def test_regions_of_one_graph_pass_their_values_through_kernels() -> None:
    function = lambda x: bessel_j0(bessel_j0(x).exp().sin()) + bessel_j0(x)
    x = torch.randn(5, 7)
    found = imported(function, x)
    assert sum(isinstance(each.op, Foreign) for each in found.graph.nodes) == 2
    torch.testing.assert_close(hidet_torch.compile(Calling(function), x)(x), function(x))


def test_a_result_stays_where_pytorch_made_it() -> None:
    """What kernels read is not copied; what comes out is, since its memory is there already."""

    def function(x: torch.Tensor) -> torch.Tensor:
        return bessel_j0(x) * 2 + bessel_j1(x.exp())

    x = torch.randn(5, 7)
    fast = hidet_torch.compile(Calling(function), x)
    for _ in range(3):
        torch.testing.assert_close(fast(x), function(x))
    operand, result = torch.randn(8, 8), torch.randn(8, 8)
    reads = [View(operand.data_ptr(), (8, 8), "float32", "cpu")]
    assert may_stay(result, reads)
    assert not may_stay(operand[1:], reads), "memory that others are given after the call"
    assert not may_stay(result.t(), reads), "not in rows"
    assert not may_stay(result.flatten()[1:], reads), "not aligned"
    assert not may_stay(torch.complex(result, result).conj(), reads), "a sign to be changed"
