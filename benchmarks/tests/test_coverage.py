"""The survey of operators; a handful of architectures that have to be compiled completely."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("transformers")

from benchmarks.coverage import Line, operators, spelled, surveyed


@pytest.mark.parametrize("name", ["distilbert", "opt", "swin", "regnet", "fnet"])
def test_nothing_is_left_to_pytorch(name: str) -> None:
    line = surveyed(name)
    assert line.failure == ""
    assert line.left == Counter()
    assert line.compiled >= 30
    assert "complete" in spelled(line)


def test_what_is_left_is_named() -> None:
    left = Counter({("aten.special_bessel_j0.default", "there is no converter"): 2})
    line = Line("bessel", 3, 1, left=left)
    assert "2 left" in spelled(line)
    assert operators([line]).startswith("aten.special_bessel_j0.default")


def test_a_model_that_cannot_be_traced_is_a_line() -> None:
    line = surveyed("no such model")
    assert line.failure == "KeyError: 'no such model'"
    assert "failed" in spelled(line)
    assert operators([line, Line("whole", 3, 1)]) == "1 of 1 models are compiled completely"
