"""What the contract does not ask for: versions, places, files with host steps."""

from __future__ import annotations

from pathlib import Path

import hidet_toy
import numpy as np
import pytest
from hidet_toy.language import Line, Model

import hidet
from hidet.errors import UnsupportedOp


def model(*lines: Line, version: int = 2) -> Model:
    return Model({"x": ("float32", (2, 3, 5))}, list(lines), ["y"], version=version)


def test_softmax_means_something_else_since_version_2() -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 5)).astype(np.float32)
    e = np.exp(x.astype(np.float64))
    for version, axes in ((1, (1, 2)), (2, (1,))):
        made = hidet_toy.compile(model(("y", "softmax", ("x",), {"axis": 1}), version=version))
        np.testing.assert_allclose(made(x)[0], e / e.sum(axes, keepdims=True), rtol=1e-5)


def test_everything_that_nobody_can_run_is_named_with_its_line() -> None:
    wrong = model(("a", "exp", ("x",), {}), ("b", "guess", ("a",), {}), ("y", "hope", ("b",), {}))
    with pytest.raises(UnsupportedOp, match=r"(?s)guess \(1x\).*model:2.*hope \(1x\).*model:3"):
        hidet_toy.compile(wrong)


def test_a_file_holds_what_numpy_runs(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="double"):
        made = hidet_toy.compile(model(("a", "double", ("x",), {}), ("y", "exp", ("a",), {})))
    x = np.zeros((2, 3, 5), np.float32) + 0.5
    made.save(tmp_path / "toy.hidet")
    found = hidet.load(tmp_path / "toy.hidet", "cpu")(x)
    np.testing.assert_allclose(found.numpy(), np.exp(2 * x), rtol=1e-6)
