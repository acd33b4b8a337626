"""What the contract does not ask for: versions, places, files with host steps."""

from __future__ import annotations

from pathlib import Path

import hidet_toy
import numpy as np
import pytest
from hidet_toy.language import Function, Line, Model

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


def repeated(operator: str) -> Model:
    """A model whose calls say how often an operator is applied."""
    body = Function(("a",), [("b", operator, ("a",), {})], "b")
    inputs: dict[str, tuple[str, tuple[int | str, ...]]] = {
        "x": ("float32", (3,)),
        "n": ("int64", ()),
    }
    lines: list[Line] = [("y", "repeat", ("n", "x"), {"body": "f"})]
    return Model(inputs, lines, ["y"], functions={"f": body})


def test_numpy_runs_in_the_iterations_of_a_loop_too() -> None:
    with pytest.warns(UserWarning, match="double"):
        made = hidet_toy.compile(repeated("double"))
    x = np.asarray([0.1, -1, 7], np.float32)
    for iterations in (0, 1, 5):
        np.testing.assert_array_equal(made(x, np.int64(iterations))[0], x * 2**iterations)


def test_what_nobody_can_run_in_a_function_is_named_with_who_calls_it() -> None:
    with pytest.raises(UnsupportedOp, match=r"(?s)guess \(1x\).*repeat \(1x\).*model:1"):
        hidet_toy.compile(repeated("guess"))
