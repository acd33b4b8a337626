"""The command `hidet` on Keras files."""

from __future__ import annotations

import re
from pathlib import Path

import keras
import numpy as np
import pytest

from hidet.cli.main import main

X = np.random.default_rng(0).standard_normal((3, 7)).astype(np.float32)


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> keras.Model:
    """A layer, also in `model.keras`, and an x; the current folder has both."""
    keras.utils.set_random_seed(0)
    inputs = keras.Input((7,), name="x")
    made = keras.Model(inputs, keras.layers.Dense(5, "relu")(inputs))
    made.save(tmp_path / "model.keras")
    np.save(tmp_path / "x.npy", X)
    monkeypatch.chdir(tmp_path)
    return made


@pytest.mark.parametrize("path", ["model.keras", "compiled.hidet"])
def test_what_is_compiled_runs(
    path: str, model: keras.Model, capsys: pytest.CaptureFixture
) -> None:
    assert main(["compile", "model.keras", "-o", "compiled.hidet", "--target", "cpu"]) == 0
    assert "compiled.hidet: for cpu, " in capsys.readouterr().out
    assert main(["run", path, "--input", "x=x.npy", "--output", "y.npz"]) == 0
    assert "float32[3, 5]" in capsys.readouterr().out
    found = np.load("y.npz")["output0"]
    np.testing.assert_allclose(found, model(X), rtol=1e-5, atol=1e-5)


def test_bench_compares_with_tensorflow(model: keras.Model, capsys: pytest.CaptureFixture) -> None:
    assert main(["bench", "model.keras", "--size", "x.0=5", "--repeat", "3"]) == 0
    said = capsys.readouterr().out
    for name in ("hidet", "tensorflow", "xla"):
        _, faster, error, _ = re.search(rf"^{name} +(.*)$", said, re.M)[1].split()[:4]
        assert faster.endswith("x")
        assert float(error) < 1e-5


def test_several_targets_in_one_file(model: keras.Model, capsys: pytest.CaptureFixture) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="there is no NVRTC")
    assert main(["compile", "model.keras", "--target", "sm_90a", "--target", "cpu"]) == 0
    assert "model.hidet: for sm_90a, cpu, " in capsys.readouterr().out
    assert main(["run", "model.hidet", "--device", "cpu", "--size", "x.0=2"]) == 0
