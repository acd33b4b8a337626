"""Checks that raise for singular matrices: PyTorch's own message, between kernels, no fallback."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from compiling import close, compiled
from torch import linalg, nn
from torch.nn import functional

import hidet
import hidet_torch
from hidet.errors import BadArgument, ShapeMismatch
from hidet.frontend.importing.report import FallbackWarning
from hidet_torch.reports.saving import UncheckedWarning


class Inverse(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return linalg.inv(x) + 1


class Counts(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.bincount(x)


@torch.no_grad()
@pytest.mark.parametrize("size", [1, 2, 7])
def test_a_batch_is_checked_matrix_by_matrix(size: int) -> None:
    fast = compiled(Inverse(), options={"fallback": "error"})
    x = torch.eye(size).expand(3, size, size) * torch.tensor([1.0, 2, 4])[:, None, None]
    close(fast(x), linalg.inv(x) + 1)
    x[1, 0] = 0
    with pytest.raises(linalg.LinAlgError, match=r"Batch element 1.*diagonal element 1 is zero"):
        fast(x)


@torch.no_grad()
def test_checks_come_in_order() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return linalg.cholesky(x), linalg.solve(y, x)

    fast, one = compiled(function, options={"fallback": "error"}), torch.eye(4)
    for found, expected in zip(fast(one * 4, one * 2), function(one * 4, one * 2), strict=True):
        close(found, expected)
    with pytest.raises(linalg.LinAlgError, match=r"linalg\.solve"):
        fast(one, 0 * one)
    with pytest.raises(linalg.LinAlgError, match=r"linalg\.cholesky"):
        fast(-one, 0 * one)


def test_a_file_has_no_check(tmp_path: Path) -> None:
    fast = hidet_torch.compile(Inverse(), torch.eye(3))
    with pytest.raises(BadArgument, match="raises by the values of a tensor") as caught:
        fast.save(tmp_path / "inverse.hidet")
    assert "inv_ex" in str(caught.value)


class Classes(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.one_hot(x, 5).float() @ torch.eye(5)


@torch.no_grad()
def test_what_a_function_asserts_of_values_is_checked() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        torch._assert_async((x > 0).all(), "x has to be positive")
        torch._assert_async(y.sum() < 9, "y is too large")
        return x.log() + y

    fast = compiled(function, options={"fallback": "error"})
    x, y = torch.rand(3, 4) + 0.5, torch.rand(4)
    for _ in range(2):
        close(fast(x, y), function(x, y))
        with pytest.raises(RuntimeError, match="x has to be positive"):
            fast(x - 2, y)
        with pytest.raises(RuntimeError, match="y is too large"):
            fast(x, y + 9)


@torch.no_grad()
def test_classes_are_checked_and_a_file_says_that_it_does_not(
    tmp_path: Path,
) -> None:
    x = torch.tensor([0, 4, 2])
    for fast in (
        compiled(Classes(), options={"fallback": "error"}),
        hidet_torch.compile(Classes(), x, fallback="error"),
    ):
        close(fast(x), Classes()(x))
        for wrong, said in ((5, "smaller than num_classes"), (-1, "non-negative")):
            with pytest.raises(RuntimeError, match=said):
                fast(torch.tensor([0, 1, wrong]))
    with pytest.warns(UncheckedWarning, match=r"asserts: one_hot: .*non-negative.*num_classes"):
        fast.save(tmp_path / "classes.hidet")
    close(hidet.load(tmp_path / "classes.hidet")(x).torch(), Classes()(x))


@torch.no_grad()
def test_assertions_in_branches_leave_these_to_pytorch() -> None:
    def branch(x: torch.Tensor) -> torch.Tensor:
        torch._assert_async(x.sum() < 4, "too much")
        return x * 2

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x[0] > 0, branch, torch.neg, (x,)) + 1

    x = torch.ones(3)
    fast = compiled(function)
    with pytest.warns(FallbackWarning):
        found = fast(x)
    close(found, function(x))
    with pytest.raises(RuntimeError, match="too much"):
        fast(2 * x)


@torch.no_grad()
def test_lengths_of_segments_are_checked() -> None:
    def function(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        return torch.segment_reduce(x, "sum", lengths=lengths) * 2

    fast, x = compiled(function, options={"fallback": "error"}), torch.randn(9, 2)
    for right in ([2, 0, 3, 4], [9, 0, 0, 0]):
        close(fast(x, torch.tensor(right)), function(x, torch.tensor(right)))
    for wrong in ([2, 0, 3, 3], [2, 0, 3, 5], [-1, 4, 3, 3]):
        for each in (function, fast):
            with pytest.raises(RuntimeError, match=r"add up to|to sum to|contains negative"):
                each(x, torch.tensor(wrong))


@torch.no_grad()
def test_factors_are_checked() -> None:
    fast, one = compiled(torch.cholesky, options={"fallback": "error"}), torch.eye(4)
    close(fast(one * 4), one * 2)
    for each in (torch.cholesky, fast):
        with pytest.raises(linalg.LinAlgError, match=r"leading minor of order 3"):
            each(torch.diag(torch.tensor([1.0, 2, -1, 3])))


@torch.no_grad()
def test_numbers_below_zero_are_not_counted() -> None:
    program = torch.export.export(Counts(), (torch.tensor([3, 1, 1]),))
    fast = hidet_torch.compile(program)
    assert fast(torch.tensor([0, 4, 4])).tolist() == [1, 0, 0, 0, 2]
    with pytest.raises(ShapeMismatch, match=r"-2"):
        fast(torch.tensor([0, -2, 4]))
