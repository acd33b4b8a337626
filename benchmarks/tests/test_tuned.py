import math

import pytest
import torch
from torch import nn

from benchmarks.measure.tuned import TunedRow, measure_tuned, tuned_table
from benchmarks.run import each_tuned, parse


def test_a_row_for_each_search_space():
    layer = nn.Linear(24, 40).requires_grad_(False)
    rows = list(measure_tuned("linear", layer, (torch.randn(7, 24),)))
    assert [row.space for row in rows] == [0, 1, 2]
    for row in rows:
        assert row.failure == ""
        assert row.microseconds > 0
        assert row.error < 1e-5
    text = tuned_table(rows)
    assert "| linear, float32 | 0 " in text
    assert "1.00x" in text


def test_failures_are_in_the_table():
    assert "broken" in tuned_table([TunedRow("x", "float32", "cpu", 0, failure="broken")])
    assert math.isnan(TunedRow("x", "float32", "cpu", 0).microseconds)


@pytest.mark.parametrize(("words", "subjects"), [(["mlp"], {"mlp"}), (["softmax"], {"softmax"})])
def test_subjects_are_networks_and_operators(words, subjects, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "benchmarks.run.measure_tuned", lambda name, *rest: seen.append(name) or iter(())
    )
    list(each_tuned(parse(["--device", "cpu", "--tuned", *words])))
    assert seen
    assert all(any(each in name for each in subjects) for name in seen)
