"""Memory of results on the CPU: given again once nobody holds it, and never before."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest
import torch

import hidet_torch
from hidet_torch.memory import results
from hidet_torch.memory.results import ALL, EACH, LEAST, Layout, Results, maker

LAYOUT: Layout = ((129, 257), (257, 1), torch.float32)


def test_memory_is_given_again_once_nobody_holds_it() -> None:
    kept = Results().of(LAYOUT)
    first = kept.tensor()
    second = kept.tensor()
    places = first.data_ptr(), second.data_ptr()
    assert len({*places}) == 2
    del second
    assert kept.tensor().data_ptr() == places[1]
    assert (first.shape, first.stride(), first.dtype) == LAYOUT
    assert first._version == 0
    assert not first._is_view()


@pytest.mark.parametrize(
    "hold",
    [
        lambda x: x[3:, ::2],
        lambda x: x.t().reshape(-1, 129),
        lambda x: x.numpy(),
        lambda x: x.untyped_storage(),
        lambda x: x.detach(),
        lambda x: torch.from_dlpack(x),
        lambda x: torch.nn.Parameter(x),
        lambda x: x.__dlpack__(),
    ],
)
def test_what_still_holds_the_memory_keeps_it(hold: Callable[[torch.Tensor], Any]) -> None:
    kept = Results().of(LAYOUT)
    x = kept.tensor()
    place = x.data_ptr()
    held = hold(x)
    del x
    assert place != kept.tensor().data_ptr()
    del held


def test_memory_that_was_put_elsewhere_is_not_given_again() -> None:
    """As what goes to another process is, which may read it after nobody holds it here."""
    kept = Results().of(LAYOUT)
    x = kept.tensor().share_memory_()
    shared = x.data_ptr()
    del x
    assert kept.tensor().data_ptr() != shared
    x = kept.tensor()
    x.untyped_storage().resize_(0)
    del x
    assert kept.tensor().untyped_storage().nbytes() == 129 * 257 * 4


def test_no_more_is_kept_than_allowed() -> None:
    every = Results()
    rows = ALL // 40 // 4096
    many = [every.of(((rows + n, 1024), (1024, 1), torch.float32)) for n in range(50)]
    for each in (*many, many[20]):
        each.tensor()
    usual = every.of(LAYOUT)
    assert usual is every.of(LAYOUT)
    held = [usual.tensor() for _ in range(EACH + 3)]
    assert len(usual.kept) == EACH
    assert len({each.data_ptr() for each in held}) == EACH + 3
    assert 0 < every.nbytes == sum(e.nbytes for each in every.kept for e in each.kept) <= ALL
    assert not many[0].kept
    assert many[20].kept
    assert many[0].tensor().shape == (rows, 1024)


def test_inference_mode_leaves_no_trace() -> None:
    kept = Results().of(LAYOUT)
    with torch.inference_mode():
        kept.tensor()
    x = kept.tensor()
    assert not x.is_inference()
    assert x.requires_grad_().requires_grad


def test_small_results_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RESULTS", Results())
    maker(((LEAST // 4 - 1,), (1,), torch.float32), "cpu")()
    assert not results.RESULTS.kept
    maker(((LEAST // 4,), (1,), torch.float32), "cpu")()
    assert results.RESULTS.kept


class Sum(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return x + y, x * y


def test_results_of_calls_never_share_memory() -> None:
    x, y = torch.randn(2, 131, 257)
    call = hidet_torch.compile(Sum(), x, y)
    held = []
    for n in range(6):
        held += call(x + n, y)
        if n % 2:
            del held[0]
    for n, (total, product) in enumerate(zip(held[-6::2], held[-5::2], strict=True), 3):
        torch.testing.assert_close(total, x + n + y)
        torch.testing.assert_close(product, (x + n) * y)


def test_threads_get_different_memory() -> None:
    x, y = torch.randn(2, 131, 257)
    call = hidet_torch.compile(Sum(), x, y)
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(50):
            total, _ = call(x, y + number)
            if not torch.equal(total, x + (y + number)):
                wrong.append(number)

    threads = [Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong
