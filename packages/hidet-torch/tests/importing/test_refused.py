"""Reasons are those that hold: of one operator, at its line, the same wherever they are told."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch
from torch import nn

import hidet_torch
from hidet.errors import NotYet, UnsupportedOp
from hidet.frontend.importing.report import FallbackWarning
from hidet_torch.importing.refused import Refused


class Found(nn.Module):
    """PyTorch runs an operator on as many rows as data tell."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.relu(x)
        places = torch.nonzero(y > 0)
        z = torch.special.bessel_j0(places.float() / 3)  # stays
        return y + 1, torch.exp(z.t()) * 2


class Counted(nn.Module):
    """A number that may be no size: nothing of the graph can be compiled."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        positive = torch.relu(x) > 0
        count = positive.sum().item()  # stays
        return torch.exp(x) * count


def line_of(model: nn.Module) -> int:
    source = Path(__file__).read_text().splitlines()
    start = type(model).forward.__code__.co_firstlineno
    return next(n for n in range(start, len(source)) if "# stays" in source[n - 1])


@pytest.mark.parametrize(
    ("model", "operator", "reason"),
    [
        (Found(), "aten.special_bessel_j0.default", "there is no converter"),
        (Counted(), "aten._local_scalar_dense.default", "may be below zero"),
    ],
)
def test_one_operator_is_named_at_its_line_by_all_who_tell(
    model: nn.Module, operator: str, reason: str, tmp_path: Path
) -> None:
    x = torch.randn(5, 7)
    with pytest.warns(FallbackWarning) as warned:
        fast = hidet_torch.compile(model, x)
    with pytest.raises(UnsupportedOp) as refused:
        fast.save(tmp_path / "model.hidet")
    told = hidet_torch.explain(fast)
    for text in (str(warned[0].message), refused.value.message):
        first = text.splitlines()[1:3]
        assert first[0].startswith(f"  {operator} (1x): ")
        assert reason in first[0]
        assert first[1] == f"    at {__file__}:{line_of(model)} in forward"
    (use,) = (use for use in told.coverage.uses if use.reason and not use.is_beside)
    assert (use.operator, use.place.line) == (operator, line_of(model)) if use.place else False
    assert "fallback" not in str(refused.value.help), "warnings instead would write no file"
    for given in (x, torch.randn(5, 7), torch.zeros(5, 7)):
        torch.testing.assert_close(fast(given), model(given))


def test_what_stays_for_another_operator_is_one_line() -> None:
    with pytest.warns(FallbackWarning) as warned:
        hidet_torch.compile(Counted(), torch.randn(5, 7))
    lines = str(warned[0].message).splitlines()
    assert len(lines) == 5
    assert lines[3] == (
        "  5 others (aten.relu.default, aten.gt.Scalar, aten.sum.default, ...): "
        "the whole graph stays in PyTorch for aten._local_scalar_dense.default"
    )


def test_a_refusal_is_sent_to_other_processes_as_what_it_says() -> None:
    made = pickle.loads(pickle.dumps(Refused(NotYet("so it is", help="do that"), None)))
    assert (type(made), made.message, made.help) == (NotYet, "so it is", "do that")
