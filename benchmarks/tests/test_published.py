"""The networks that CPUs and GPUs are compared on: made small, each is one that hidet compiles
rightly."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("transformers")

from benchmarks.measure.exported import exact, results, worst
from benchmarks.networks.others import OTHERS
from benchmarks.published import COMPARED, PUBLISHED, published

OWN = ("mobilenet_v2_same", "efficientnet_b0", "convnext_t", "distilbert", "gpt2")
"""Those that no other test of exported networks makes."""


@pytest.mark.parametrize("name", [*OWN, "llama_one_token", *OTHERS])
def test_activations_are_neither_denormal_nor_all_alike(name: str) -> None:
    made = published(name, True, {**PUBLISHED, **OTHERS})
    for found in exact(made):
        assert 1e-6 < float(found.abs().mean()) < 1e6
        assert float(found.std()) > 1e-6
    with torch.no_grad():
        assert worst(results(made.model(*made.inputs)), exact(made)) < 1e-4


def test_networks_are_the_same_each_time() -> None:
    assert len(COMPARED) == 14
    first, second = (published("convnext_t", small=True) for _ in range(2))
    for one, other in zip(first.model.parameters(), second.model.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
