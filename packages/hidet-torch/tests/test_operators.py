"""A part of PyTorch's own samples of its operators; `nox -s operators` runs all of them."""

from __future__ import annotations

import pytest
import torch

pytest.importorskip("ci", reason="the suite's runner is not beside tests of installed wheels")
pytest.importorskip("expecttest", reason="PyTorch's samples need it")
from ci.operator_suite.cases import operators
from ci.operator_suite.known import FILE, PAGE, VERSION
from ci.operator_suite.page import page
from ci.operator_suite.score import score
from ci.suites import known

pytestmark = pytest.mark.skipif(
    not torch.__version__.startswith(VERSION), reason=f"recorded of PyTorch {VERSION}"
)
CHOSEN = ["index_copy", "softmax", "median", "sort", "tril", "where"]


@pytest.mark.parametrize("name", CHOSEN)
def test_an_operator_is_as_good_as_it_was(name: str) -> None:
    assert not known.worse([score(name)], known.read(FILE))


def test_the_page_says_what_is_recorded() -> None:
    assert PAGE.read_text() == page(known.read(FILE), len(operators()))


def test_only_operators_that_exist_are_listed() -> None:
    for listed in known.read(FILE).values():
        assert listed.keys() <= operators().keys()


def test_the_samples_leave_other_tests_the_flags_of_backends() -> None:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.allow_tf32
