"""Every operator means what TensorFlow means by it."""

from __future__ import annotations

import numpy as np
import pytest
from op_cases import CASES, Case

from hidet.graph import evaluate
from hidet.testing.compare import assert_close
from hidet.types import dtype
from hidet_tf.importing.imported import Imported, import_function

OPEN = [each for each in CASES if each.is_open]


def imported(case: Case, is_open: bool = False) -> Imported:
    """A case whose operators are all converted."""
    found = import_function(case.concrete(is_open), "cpu")
    assert not [use.reason for use in found.coverage.uses if use.reason]
    return found


def agrees(case: Case, is_open: bool) -> None:
    """What the imported operators mean, computed in float64, is what TensorFlow gives."""
    made = imported(case, is_open)
    found = evaluate(made.graph, *case.inputs)
    expected = case.expected()
    for number, one in zip(made.outputs, expected, strict=True):
        assert found[number].shape == one.shape
        kind = dtype("float32" if case.narrow and one.dtype == np.float64 else one.dtype)
        assert_close(found[number], one, kind, 64 if one.dtype == np.float64 else case.ulps)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_means_what_tensorflow_means(case: Case) -> None:
    agrees(case, is_open=False)


@pytest.mark.parametrize("case", OPEN, ids=str)
def test_with_an_open_first_axis(case: Case) -> None:
    agrees(case, is_open=True)
