"""The command `hidet` on ONNX files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from hidet.build.inputs import CopyWarning
from hidet.cli.main import main

RNG = np.random.default_rng(0)
WEIGHT = RNG.standard_normal((7, 129)).astype(np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, relu(x @ w), in `model.onnx`, and an x; it is the current one."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 7])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 129])
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])]
    graph = helper.make_graph(nodes, "layer", [x], [y], [numpy_helper.from_array(WEIGHT, "w")])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(made, str(tmp_path / "model.onnx"))
    np.save(tmp_path / "x.npy", RNG.standard_normal((3, 7)).astype(np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def expected(folder: Path) -> np.ndarray:
    return np.maximum(np.load(folder / "x.npy").astype(np.float64) @ WEIGHT, 0)


@pytest.mark.parametrize("path", ["model.onnx", "compiled.hidet"])
def test_what_is_compiled_runs(path: str, folder: Path, capsys: pytest.CaptureFixture) -> None:
    assert main(["compile", "model.onnx", "-o", "compiled.hidet", "--target", "cpu"]) == 0
    assert "compiled.hidet: for cpu, " in capsys.readouterr().out
    assert main(["run", path, "--input", "x=x.npy", "--output", "y.npz"]) == 0
    assert "float32[3, 129]" in capsys.readouterr().out
    found = np.load(folder / "y.npz")["output0"]
    np.testing.assert_allclose(found, expected(folder), rtol=1e-5, atol=1e-5)


def test_an_input_may_lie_in_another_order(
    folder: Path, capsys: pytest.CaptureFixture, recwarn: pytest.WarningsRecorder
) -> None:
    assert main(["compile", "model.onnx", "-o", "compiled.hidet", "--order", "x=1,0"]) == 0
    capsys.readouterr()
    for inputs in (["--input", "x=x.npy", "--output", "y.npz"], ["--size", "batch=4"]):
        assert main(["run", "compiled.hidet", *inputs]) == 0
        assert "x: float32[batch, 7] in rows of axes (1, 0) -> " in capsys.readouterr().out
    found = np.load(folder / "y.npz")["output0"]
    np.testing.assert_allclose(found, expected(folder), rtol=1e-5, atol=1e-5)
    assert not [each for each in recwarn if each.category is CopyWarning]


def test_several_targets_in_one_file(folder: Path, capsys: pytest.CaptureFixture) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="there is no NVRTC")
    assert main(["compile", "model.onnx", "--target", "sm_90a", "--target", "cpu"]) == 0
    assert "model.hidet: for sm_90a, cpu, " in capsys.readouterr().out
    assert main(["run", "model.hidet", "--device", "cpu", "--size", "batch=2"]) == 0


def test_bench_compares_with_onnx_runtime(folder: Path, capsys: pytest.CaptureFixture) -> None:
    pytest.importorskip("onnxruntime", reason="there is nothing to compare with")
    assert main(["bench", "model.onnx", "--size", "batch=5", "--repeat", "3"]) == 0
    said = capsys.readouterr().out
    for name in ("hidet", "onnxruntime"):
        median, faster, error, _, _ = re.search(rf"^{name} +(.*)$", said, re.M)[1].split()
        assert float(median) > 0
        assert float(faster.removesuffix("x")) > 0
        assert float(error) < 1e-5


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["compile", "nothing.onnx"], "nothing.onnx cannot be read"),
        (["compile", "x.npy"], r"no installed frontend takes x.npy\n  help: .*\.onnx"),
        (["compile", "model.onnx", "-o", "model.onnx"], "is the model itself"),
        (["compile", "model.onnx", "--target", "sm_1"], "sm_1"),
        (["compile", "model.onnx", "--order", "x"], "--order 'x' names no axes"),
        (["compile", "model.onnx", "--order", "x=1,1"], "x cannot lie in the order"),
        (["compile", "model.onnx", "-o", "none/model.hidet"], "there is no folder none"),
        (["bench", "model.onnx"], "the size batch of .* is not known\n  help: pass --size batch=8"),
        (["bench", "model.onnx", "--size", "n=3"], "no size 'n'"),
        (["run", "model.onnx", "--input", "z=x.npy"], "z=x.npy is no .npy file"),
        (["run", "model.onnx", "--input", "model.onnx"], "no .npy file"),
    ],
)
def test_what_is_wrong_is_said(
    arguments: list[str], says: str, folder: Path, capsys: pytest.CaptureFixture
) -> None:
    assert main(arguments) == 1
    assert re.search(says, capsys.readouterr().err)
    assert onnx.load(str(folder / "model.onnx")).graph.name == "layer"
