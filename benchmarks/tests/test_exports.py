"""Exported networks: the same kernels as from PyTorch, no host step, as near to float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch

pytest.importorskip("transformers")
pytest.importorskip("onnxscript")

import hidet_onnx
from benchmarks.exports import SUBJECTS, export, subject
from benchmarks.measure.exported import arrays, exact, from_torch, results, steps, worst

ALLOWED = 3.0
"""How much larger than eager's own the error against float64 may be."""
EXPORTERS = {
    "torch.export": ("vit", "gpt2 with cache, dynamic", "llama"),
    "TorchScript": ("bert", "whisper decoder"),
}


@pytest.mark.parametrize(
    ("exporter", "name"), [(each, name) for each, names in EXPORTERS.items() for name in names]
)
def test_an_exported_network(exporter: str, name: str) -> None:
    made = subject(name, small=True)
    compiled = hidet_onnx.compile(export(made, dynamo=exporter == "torch.export"))
    imported = compiled.latest().imported
    assert imported.coverage.is_complete
    launched, on_the_host = steps(imported.graph)
    through_torch = from_torch(made)
    assert on_the_host == 0
    assert launched <= sum(steps(through_torch.run.imported.graph))
    right = exact(made)
    with torch.no_grad():
        eager = worst(results(made.model(*made.inputs)), right)
    assert worst(compiled.run(arrays(made)), right) <= ALLOWED * eager


def test_sizes_that_vary_are_others_in_the_next_call() -> None:
    """The exported cache grows by three tokens, then the batch and everything else is another."""
    made = subject("gpt2 with cache, dynamic", small=True)
    compiled = hidet_onnx.compile(export(made))
    compiled.run(arrays(made))
    tokens, *past = made.inputs
    other = made._replace(inputs=(tokens[:1, :2], *(each[:1, :, :4] for each in past)))
    assert worst(compiled.run(arrays(other)), exact(other)) < 1e-5


def test_every_network_is_made_the_same_each_time() -> None:
    assert len(SUBJECTS) >= 12
    first, second = (subject("lstm", small=True) for _ in range(2))
    for one, other in zip(first.model.parameters(), second.model.parameters(), strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
