import torch

import hidet_torch


def partly(x: torch.Tensor) -> torch.Tensor:
    y = torch.relu(x) + 1
    return torch.i0(y)  # stays


def test_coverage_is_counted_and_printed() -> None:
    explanation = hidet_torch.explain(partly, torch.randn(4))
    assert explanation.graphs == 1
    assert list(explanation.coverage.left) == ["aten.i0.default"]
    assert explanation.coverage.compiled == {"aten.relu.default": 1, "aten.add.Tensor": 1}
    text = str(explanation)
    line = partly.__code__.co_firstlineno + 2
    assert "left to the framework: there is no converter" in text
    assert f"test_explaining.py:{line} in partly" in text
    assert text.endswith("2 uses compiled, 1 left to the framework, in 1 graph")
