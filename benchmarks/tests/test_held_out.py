"""Models that the compiler was not developed against; those of the list that take little time."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("transformers")

from benchmarks.held_out.__main__ import error, measured
from benchmarks.held_out.models import CASES


@pytest.mark.parametrize("name", ["NeRF", "ESRGAN"])
def test_a_model_is_as_exact_as_eager(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert measured(name)
    assert "complete  in 1 graph(s), error" in capsys.readouterr().out


def test_inputs_have_the_batch_that_is_asked_for() -> None:
    for name, case in CASES.items():
        if name != "graph attention":  # eleven nodes for a batch of two: edges need as many
            assert all(case.inputs(2)[each].shape[0] == 2 for each in case.batched), name


def test_what_differs_is_told() -> None:
    exact = [torch.tensor([3.0, 4.0]), torch.tensor([1])]
    assert error([torch.tensor([3.0, 4.5]), torch.tensor([1])], exact) == pytest.approx(0.1)
    assert error([exact[0], torch.tensor([2])], exact) == float("inf")
    assert error([torch.tensor([3.0, float("nan")]), exact[1]], exact) == float("inf")
