"""Models of Keras, written by tf2onnx (`data/make_keras.py`), are compiled whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import hidet_onnx
from hidet.optimize import optimize

DATA = Path(__file__).parent / "data"


@pytest.mark.parametrize("name", ["transformer", "recurrent", "image"])
def test_a_model_of_keras(name: str) -> None:
    path, kept = DATA / f"keras_{name}.onnx", np.load(DATA / f"keras_{name}.npz")
    model = hidet_onnx.compile(path)
    found = model(kept["x"])
    assert model.latest().imported.coverage.is_complete
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (other,) = session.run(None, {session.get_inputs()[0].name: kept["x"]})
    far = 3 * np.abs(other - kept["y"]).max() + 1e-7  # TensorFlow's own is as far from float64
    np.testing.assert_allclose(found, kept["y"], rtol=0, atol=far)


def test_what_keras_spells_out_is_found() -> None:
    graph = hidet_onnx.from_onnx(DATA / "keras_transformer.onnx")
    found = [node.op.name for node in optimize(graph, scheduled=lambda op: True).nodes]
    assert [found.count(each) for each in ("attention", "layer_norm", "gelu")] == [1, 2, 1]
    assert "softmax" not in found


@pytest.mark.parametrize("rows", [1, 7])
def test_another_batch(rows: int) -> None:
    kept = np.load(DATA / "keras_transformer.npz")
    model = hidet_onnx.compile(DATA / "keras_transformer.onnx")
    many = np.resize(kept["x"], (rows, 9))
    whole = model(many)
    np.testing.assert_allclose(whole[:1], kept["y"][:1], rtol=1e-5, atol=1e-6)
