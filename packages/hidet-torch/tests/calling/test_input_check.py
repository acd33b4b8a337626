"""Tensors that are like others: yes is said of no tensor that a call has to look at."""

from __future__ import annotations

import pytest
import torch

from hidet_torch.calling.input_check import like, unlike

X = torch.ones(4, 6)


class Other(torch.Tensor):
    pass


def test_tensors_like_others() -> None:
    alike = like([X, torch.ones(3)])
    assert alike(X, torch.zeros(3))
    assert alike(torch.empty(24)[:].view(4, 6), torch.ones(5)[2:])
    with torch.no_grad():
        assert alike(X, torch.zeros(3))


@pytest.mark.parametrize(
    "other",
    [
        torch.ones(6, 4).t(),
        torch.ones(5, 6),
        torch.ones(4, 6, 1),
        torch.ones(8, 6)[::2],
        X.double(),
        X.int(),
        X.to("meta"),
        X.to_sparse(),
        torch._neg_view(X),
        X.as_subclass(Other),
        torch.nn.Parameter(X),
        X.clone().requires_grad_(),
        3,
        None,
    ],
)
def test_tensors_unlike_others(other: object) -> None:
    assert not like([X])(other)


def test_numbers_that_are_conjugated_later() -> None:
    x = torch.ones(3, dtype=torch.complex64)
    assert like([x])(x.clone())
    assert not like([x])(x.conj())


def test_nothing_is_known_of_none() -> None:
    assert not unlike(X)
    assert not like([])()
