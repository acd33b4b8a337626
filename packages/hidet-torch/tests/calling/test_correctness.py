"""The correctness report of a model: once, on the inputs of the first call, beside PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch._higher_order_ops import effects

from hidet.graph import OPERATORS
from hidet_torch import compile as compile_model
from hidet_torch import dynamo_config
from hidet_torch.backend import hidet


class Block(nn.Module):
    """Convolution, norm, activation, pooling, classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm(self.conv(x)))
        return self.head(y.mean((2, 3)))


def lines(capsys: Any) -> list[list[str]]:
    """The rows that were printed, in words."""
    return [line.split() for line in capsys.readouterr().out.splitlines()[2:]]


@torch.no_grad()
def test_it_is_printed_once_for_each_graph(capsys: Any) -> None:
    net, x = Block().eval(), torch.randn(2, 3, 8, 8)
    dynamo_config.correctness_report()
    fast = torch.compile(net, backend=hidet)
    expected = net(x)
    torch.testing.assert_close(fast(x), expected, rtol=1e-4, atol=1e-5)
    rows = lines(capsys)
    assert rows[0][1] == "placeholder"
    assert rows[-1][1] == "output"
    names = [row[2].partition("(")[0] for row in rows if row[1] == "operator"]
    assert names[0] == "Conv"
    assert "Relu" in names
    assert names[-1] == "Linear"
    assert all(float(row[-1]) < 1e-5 for row in rows)
    fast(torch.randn(2, 3, 8, 8))
    assert lines(capsys) == []


@torch.no_grad()
def test_it_is_of_the_actual_inputs_and_names_the_line(capsys: Any, monkeypatch: Any) -> None:
    # What this compiler takes for a square root is wrong, for large values only.
    kind: Any = OPERATORS["sqrt"]
    usual = kind.value
    monkeypatch.setattr(kind, "value", staticmethod(lambda v: usual(v) + (v > 100.0).cast(v.dtype)))
    for scale, wrong in ((1.0, False), (1000.0, True)):
        torch._dynamo.reset()
        x = torch.rand(2, 4) * scale
        function = lambda x: torch.sqrt(x + 1) * 2
        torch.compile(function, backend=hidet, options={"correctness_report": True})(x)
        text = capsys.readouterr().out
        assert ("<- the first one" in text) is wrong
        if wrong:
            (line,) = [line for line in text.splitlines() if "<- the first one" in line]
            assert "Sqrt(" in line
            assert "test_correctness.py:" in line


@torch.no_grad()
@pytest.mark.parametrize("against", [True, "float64"])
def test_half_precision_is_reported_as_what_it_promises(capsys: Any, against: Any) -> None:
    net, x = Block().eval(), torch.randn(2, 3, 8, 8)
    compile_model(net, x, correctness_report=against, use_fp16=True)(x)
    rows = lines(capsys)
    errors = [float(row[-1]) for row in rows if row[1] == "operator"]
    assert 1e-5 < max(errors) < 1e-2


@torch.no_grad()
def test_what_stays_in_pytorch_and_what_is_written_to(capsys: Any) -> None:
    def function(x: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
        total.add_(x)
        return torch.special.bessel_j0(x + 1) * 2

    x, total = torch.randn(3, 3), torch.zeros(3, 3)
    with pytest.warns(UserWarning, match="run in PyTorch"):
        found = torch.compile(function, backend=hidet, options={"correctness_report": True})(
            x, total
        )
    torch.testing.assert_close(found, torch.special.bessel_j0(x + 1) * 2)
    torch.testing.assert_close(total, x)  # added once, not twice
    rows = lines(capsys)
    assert {"framework", "output"} <= {row[1] for row in rows}
    assert any("bessel" in row[2] for row in rows)


@torch.no_grad()
def test_symbolic_sizes(capsys: Any) -> None:
    fast = torch.compile(
        lambda x: torch.softmax(x, -1) @ x.t(),
        backend=hidet,
        dynamic=True,
        options={"correctness_report": True},
    )
    fast(torch.randn(5, 7))
    rows = lines(capsys)
    assert [row[1] for row in rows].count("output") == 1
    assert all(float(row[-1]) < 1e-5 for row in rows if row[1] == "operator")


@torch.library.custom_op("hidet_tests::noted", mutates_args=())
def noted(x: torch.Tensor) -> torch.Tensor:
    """Twice a tensor: an operator that keeps its place among others that do."""
    return x * 2


@noted.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


class Noting(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(noted(noted(x + 1) * 3)) + x


@pytest.mark.filterwarnings("ignore::hidet.frontend.importing.report.FallbackWarning")
@pytest.mark.parametrize("exported", [False, True])
@torch.no_grad()
def test_calls_that_keep_their_place_have_a_row(exported: bool, capsys: Any) -> None:
    effects._register_effectful_op(torch.ops.hidet_tests.noted.default, effects._EffectType.ORDERED)
    net, x = Noting(), torch.randn(7)
    torch._dynamo.reset()
    if exported:
        fast: Any = compile_model(net, x, correctness_report="float64")
    else:
        dynamo_config.correctness_report()
        fast = torch.compile(net, backend=hidet)
    torch.testing.assert_close(fast(x), net(x))
    rows = lines(capsys)
    assert [row[1] for row in rows].count("framework") == 2
    assert all(float(row[-1]) < 1e-6 for row in rows if row[1] != "framework")
