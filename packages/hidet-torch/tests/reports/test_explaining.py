import pytest
import torch

import hidet_torch


def partly(x: torch.Tensor) -> torch.Tensor:
    y = torch.relu(x) + 1
    return torch.special.bessel_j0(y)  # stays


def test_coverage_is_counted_and_printed() -> None:
    explanation = hidet_torch.explain(partly, torch.randn(4))
    assert explanation.graphs == 1
    assert list(explanation.coverage.left) == ["aten.special_bessel_j0.default"]
    assert explanation.coverage.compiled == {"aten.relu.default": 1, "aten.add.Tensor": 1}
    text = str(explanation)
    line = partly.__code__.co_firstlineno + 2
    assert "left to the framework: there is no converter" in text
    assert f"test_explaining.py:{line} in partly" in text
    assert text.endswith("2 uses compiled, 1 left to the framework, in 1 graph")


def test_memory_beside_the_weights_is_told_for_a_gpu_that_is_not_there() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 32))
    explanation = hidet_torch.explain(net.eval(), torch.randn(16, 64))
    found = explanation.memory("sm_90a")
    assert (found.derived, found.arena, found.outputs) == (0, 4 * 16 * 64, 4 * 16 * 32)
    assert explanation.memory("cpu").derived > 0  # panels of the weights


def test_kernels_and_why_they_are_several_are_told_for_a_gpu_that_is_not_there() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Softmax(-1))
    told = hidet_torch.explain(net.eval(), torch.randn(16, 64)).kernels("sm_90a")
    assert told.startswith("main: 2 kernels\nlinear_relu: anchor linear, schedule ")
    assert "    apart: softmax reads it from memory: an element of linear takes many" in told


@pytest.mark.filterwarnings("ignore::hidet.frontend.importing.report.FallbackWarning")
@pytest.mark.filterwarnings("ignore:The tensor attributes")
@torch.no_grad()
def test_a_model_of_which_nothing_is_captured_is_told() -> None:
    net, x = torch.nn.LSTM(4, 4).eval(), torch.randn(3, 1, 4)
    assert "torch.compile captured no graph" in str(hidet_torch.explain(net, x))
    # What the words advise:
    torch.testing.assert_close(hidet_torch.compile(net, x)(x), net(x))
    torch._dynamo.reset()
    with torch._dynamo.config.patch(allow_rnn=True):
        torch.testing.assert_close(torch.compile(net, backend="hidet", fullgraph=True)(x), net(x))
