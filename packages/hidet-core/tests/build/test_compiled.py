"""Compiled graphs: called on tensors of any library, saved, loaded where they fit."""

import subprocess
import sys

import numpy as np
import pytest

import hidet
from hidet.cli.main import main
from hidet.errors import BadArchive, BadArgument, DtypeMismatch, ShapeMismatch
from hidet.runtime.archive import Archive


@pytest.fixture(scope="module")
def graph():
    x = hidet.symbol(["n", 3])
    weight, bias = hidet.randn([3, 2], seed=0), hidet.randn([2], seed=1)
    return hidet.trace_from(hidet.ops.relu(x @ weight + bias))


@pytest.fixture(scope="module")
def saved(graph, tmp_path_factory):
    """The graph in a file for three targets."""
    path = tmp_path_factory.mktemp("saved") / "model.hidet"
    graph.build("sm_90a", "cpu", "sm_80").save(path)
    return path


def expected(graph, x):
    weight, bias = (each.numpy() for each in graph.constants)
    return np.maximum(x @ weight + bias, 0)


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_inputs_of_any_library(graph, rows):
    compiled = graph.build()
    x = np.random.default_rng(0).standard_normal((rows, 3)).astype(np.float32)
    for given in (x, hidet.asarray(x)):
        np.testing.assert_allclose(compiled(given).numpy(), expected(graph, x), rtol=1e-6)
    assert [each.shape for each in compiled.run([x])] == [(rows, 2)]


def test_a_saved_graph_has_its_weights(graph, saved):
    loaded = hidet.load(saved, "cpu")
    x = np.ones((4, 3), np.float32)
    np.testing.assert_allclose(loaded(x).numpy(), expected(graph, x), rtol=1e-6)
    assert set(loaded.archive.targets) == {"cpu", "sm_80", "sm_90a"}
    assert "float32[n, 3] -> float32[n, 2]" in repr(loaded)


def test_a_target_takes_only_its_own_binaries(saved):
    whole = Archive.load(saved)
    parts = [whole.only(target) for target in whole.targets]
    assert all(set(part.plans) <= {"main", "prepare"} for part in parts)
    assert sum(len(part.binaries) for part in parts) == len(whole.binaries)
    with pytest.raises(BadArgument, match="two plans for cpu"):
        whole.joined(whole.only("cpu"))


def test_what_fits_no_device_is_refused(graph, tmp_path, monkeypatch):
    path = tmp_path / "gpu.hidet"
    graph.build("sm_86").save(path)
    monkeypatch.setattr("hidet.build.compiled.device_count", lambda: 0)
    with pytest.raises(BadArchive, match="compiled for sm_86"):
        hidet.load(path)


def test_a_damaged_file_is_refused(saved, tmp_path):
    content = bytearray(saved.read_bytes())
    short, altered = tmp_path / "short.hidet", tmp_path / "altered.hidet"
    short.write_bytes(content[:-100])
    content[len(content) // 2] ^= 1
    altered.write_bytes(content)
    for path in (short, altered):
        with pytest.raises(BadArchive):
            hidet.load(path, "cpu")


def test_inputs_that_do_not_fit(graph):
    compiled = graph.build()
    with pytest.raises(ShapeMismatch):
        compiled(np.ones((4, 5), np.float32))
    with pytest.raises(DtypeMismatch):
        compiled(np.ones((4, 3), np.float64))
    with pytest.raises(BadArgument, match="no tensor"):
        compiled("x")
    with pytest.raises(BadArgument, match="gaps"):
        compiled(np.ones((3, 4), np.float32).T)
    with pytest.raises(BadArgument, match="no CUDA graph"):
        graph.cuda_graph()


def test_loading_needs_no_compiler_and_no_framework(saved):
    code = (
        "import sys, numpy, hidet\n"
        f"y = hidet.load({str(saved)!r}, 'cpu')(numpy.ones((2, 3), numpy.float32))\n"
        "assert not {'torch', 'onnx', 'tensorflow'} & set(sys.modules)\n"
        "print(y.shape)"
    )
    command = [sys.executable, "-c", code]
    environment = {"CXX": "/nonexistent", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "(2, 2)"


def test_weights_that_only_derive_others_are_let_go(tmp_path):
    x, weight = hidet.symbol([4, 64]), hidet.randn([64, 64], seed=0)
    graph = hidet.trace_from(x @ hidet.ops.relu(weight))
    path = tmp_path / "derived.hidet"
    graph.build().save(path)
    loaded = hidet.load(path, "cpu")
    x = np.eye(4, 64, dtype=np.float32)
    np.testing.assert_allclose(loaded(x).numpy(), np.maximum(weight.numpy(), 0)[:4], rtol=1e-6)


def test_the_command_line_runs_a_file(saved, tmp_path, capsys):
    array, results = tmp_path / "x.npy", tmp_path / "y.npz"
    np.save(array, np.ones((2, 3), np.float32))
    base = ["run", str(saved), "--device", "cpu"]
    assert main([*base, "--input", str(array), "--output", str(results), "--repeat", "3"]) == 0
    printed = capsys.readouterr().out
    assert "float32[2, 2]" in printed
    assert "median of 3" in printed
    assert np.load(results)["output0"].shape == (2, 2)
    assert main([*base, "--size", "n=5"]) == 0
    assert "float32[5, 2]" in capsys.readouterr().out
    assert main(base) == 1
    assert "pass --size n=8" in capsys.readouterr().err
    assert main(["run", str(array)]) == 1


@pytest.mark.gpu
def test_a_saved_graph_on_a_gpu(graph, saved):
    loaded = hidet.load(saved)
    assert loaded.device == "cuda:0"
    x = np.random.default_rng(0).standard_normal((129, 3)).astype(np.float32)
    result = loaded(hidet.asarray(x, device="cuda"))
    np.testing.assert_allclose(result.cpu().numpy(), expected(graph, x), rtol=1e-5, atol=1e-6)
