"""Sizes that torch.export calls by different names, and that operators need to be equal."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from compiling import close
from torch import nn
from torch.export import Dim

import hidet
import hidet_torch
from hidet.errors import ShapeMismatch
from hidet.frontend.importing.report import FallbackWarning


class Cached(nn.Module):
    """A step of attention over a cache, whose keys and values have as many rows."""

    def forward(
        self, q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        k, v = torch.cat([keys, q], 2), torch.cat([values, q + 1.0], 2)
        return nn.functional.scaled_dot_product_attention(q, k, v), k.sum(2)


def inputs(past: int, values: int | None = None) -> tuple[torch.Tensor, ...]:
    """A query of three rows, and caches."""
    torch.manual_seed(past)
    rows = (3, past, past if values is None else values)
    return tuple(torch.randn(2, 4, each, 16) for each in rows)


def compiled(**most: int) -> hidet_torch.CompiledModel:
    """The step for caches of any length, of which PyTorch says that they differ."""
    lengths = Dim.DYNAMIC, Dim.DYNAMIC
    if most:
        lengths = tuple(Dim(name, min=2, max=size) for name, size in most.items())
    shapes = {"q": {}, "keys": {2: lengths[0]}, "values": {2: lengths[1]}}
    return hidet_torch.compile(Cached(), *inputs(7), dynamic_shapes=shapes, fallback="error")


def test_attention_over_a_cache_is_compiled_whole() -> None:
    fast = compiled()
    for past in (7, 2, 33):
        close(fast(*inputs(past)), Cached()(*inputs(past)))
    with pytest.raises(
        ShapeMismatch, match=r"input values .* values.2 has to be keys.2, 7 here"
    ) as e:
        fast(*inputs(7, 8))
    assert e.value.place is not None


def test_a_file_refuses_what_the_model_refuses(tmp_path: Path) -> None:
    fast = compiled(one=40, two=20)
    fast.save(tmp_path / "step.hidet")
    loaded = hidet.load(tmp_path / "step.hidet")
    given = [each.numpy() for each in inputs(5)]
    for found, expected in zip(loaded(*given), Cached()(*inputs(5)), strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-4, atol=1e-5)
    for keys, values in ((5, 6), (30, 30)):  # the size of both is at most 20
        wrong = inputs(keys, values)
        with pytest.raises(ShapeMismatch):
            loaded(*(each.numpy() for each in wrong))
        with pytest.raises(ShapeMismatch):
            fast(*wrong)


def test_caches_of_a_network_have_names_of_their_own() -> None:
    """GPT-2 of `transformers`, whose layers' caches are inputs."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    network = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            n_layer=2,
            n_embd=32,
            n_head=2,
            vocab_size=64,
            n_positions=32,
            bos_token_id=1,
            eos_token_id=1,
        )
    ).eval()

    class Step(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, ids: torch.Tensor, past: list[torch.Tensor]) -> torch.Tensor:
            cache = transformers.DynamicCache([(past[0], past[1]), (past[2], past[3])])
            return self.network(ids, past_key_values=cache, use_cache=True).logits

    def given(rows: int, length: int) -> tuple[torch.Tensor, list[torch.Tensor]]:
        past = [torch.randn(2, 2, length, 16) for _ in range(4)]
        return torch.randint(0, 64, (2, rows)), past

    step = Step().eval()
    shapes = {"ids": {1: Dim.DYNAMIC}, "past": [{2: Dim.DYNAMIC}] * 4}
    with torch.no_grad():
        fast = hidet_torch.compile(step, *given(3, 7), dynamic_shapes=shapes, fallback="error")
        for sizes in ((3, 7), (2, 5), (4, 20)):
            inputs = given(*sizes)
            close(fast(*inputs), step(*inputs))


def test_the_correctness_report_has_values_for_what_pytorch_runs(capsys) -> None:
    class Both(Cached):
        def forward(self, q, keys, values):
            found, total = super().forward(q, keys, values)
            return found, total, torch.special.bessel_j0(values + keys)

    shapes = {"q": {}, "keys": {2: Dim.DYNAMIC}, "values": {2: Dim.DYNAMIC}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        fast = hidet_torch.compile(
            Both(), *inputs(7), dynamic_shapes=shapes, correctness_report="float64"
        )
    fast(*inputs(9))
    assert "Attention" in capsys.readouterr().out


def test_what_cannot_be_checked_stays_in_pytorch() -> None:
    """How many elements a mask selects is known once it was counted, not when a call begins."""

    class Selected(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            found = x[x > 0]
            torch._check(found.shape[0] == y.shape[0])
            return found + y

    x, y = torch.tensor([1.0, -1.0, 2.0, 3.0]), torch.ones(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        fast = hidet_torch.compile(Selected(), x, y, dynamic_shapes=({}, {0: Dim.DYNAMIC}))
    close(fast(x, y), Selected()(x, y))
