"""What is left to PyTorch is never most of a region without a word."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

from hidet.frontend.importing.coverage import Coverage, Use
from hidet.frontend.importing.report import FallbackWarning
from hidet_torch.calling.share import CALLS, FIRST, Share

LEFT = Use("aten.special_bessel_j0", reason="no converter")
MOSTLY_LEFT = Coverage((LEFT,) * 2 + (Use("aten.relu"),))
HARDLY_LEFT = Coverage((LEFT, *[Use("aten.relu")] * 9))


class Call:
    """A call that takes a second, of which a step of PyTorch's takes a share."""

    def __init__(self, coverage: Coverage, device: str, left: float) -> None:
        self.now = 0.0
        share = Share(coverage, device, lambda: self.now)
        step = share.timed(lambda reads, writes: self.last(left))

        def run(boxed: list[Any]) -> list[Any]:
            step((), ())
            self.last(1 - left)
            return boxed

        self.run = self.usual = run
        share.watch(self)

    def last(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(
    ("coverage", "left", "device", "words"),
    [
        (MOSTLY_LEFT, 0.1, "cpu", "2 of 3 operators"),
        (HARDLY_LEFT, 0.95, "cpu", r"1 of 10 operators of a compiled region and takes \d\d%"),
        (MOSTLY_LEFT, 0.1, "cuda:0", "2 of 3 operators of a compiled region: it"),
        (HARDLY_LEFT, 0.1, "cpu", ""),
        (HARDLY_LEFT, 0.95, "cuda:0", ""),  # the host sees no times there
    ],
)
def test_most_of_a_region_is_told_once(
    coverage: Coverage, left: float, device: str, words: str
) -> None:
    call = Call(coverage, device, left)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(FIRST + CALLS + 3):
            assert call.run([1]) == [1]
    assert call.run is call.usual, "later calls are as without it"
    assert len(found) == bool(words)
    if words:
        assert found[0].category is FallbackWarning
        assert found[0].filename == __file__
        with pytest.raises(FallbackWarning, match=words):
            raise found[0].message  # type: ignore[misc]


def left_alone(x: torch.Tensor) -> torch.Tensor:
    return torch.special.bessel_j0(torch.special.bessel_j1(x.t()))


def mixed(x: torch.Tensor) -> torch.Tensor:
    return torch.special.bessel_j0(torch.special.bessel_j1(torch.special.bessel_j0(x))) + 1


@torch.no_grad()
@pytest.mark.parametrize(
    ("function", "messages"),
    [
        (left_alone, ["nothing is compiled"]),
        (mixed, ["everything around them is compiled", "runs 3 of 4 operators"]),
    ],
)
def test_models_say_it(
    function: Callable[[torch.Tensor], torch.Tensor], messages: list[str]
) -> None:
    torch._dynamo.reset()
    fast, x = torch.compile(function, backend="hidet"), torch.randn(3, 4)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", FallbackWarning)
        for _ in range(FIRST + CALLS + 3):
            torch.testing.assert_close(fast(x), function(x))
    told = [str(each.message) for each in found if each.category is FallbackWarning]
    assert len(told) == len(messages)
    assert {each.filename for each in found} == {__file__}
    assert all(words in each for words, each in zip(messages, told, strict=True))
