"""Compiled graphs: called on tensors of any library, saved, loaded where they fit."""

import hashlib
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import hidet
from hidet.build.inputs import CopyWarning
from hidet.build.placement import fitting
from hidet.cli.main import main
from hidet.errors import BadArchive, BadArgument, DtypeMismatch, ShapeMismatch
from hidet.graph.dims import size_symbol
from hidet.runtime.devices.device import host_flags
from hidet.runtime.plans.archive import MANIFEST, Archive


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


FLAGS = {
    "": ("sse2",),
    "+avx2": ("avx2", "fma"),
    "+avx512": ("avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"),
}


@pytest.mark.parametrize("isa", FLAGS)
def test_of_several_instruction_sets_the_widest_is_loaded(graph, isa, tmp_path, monkeypatch):
    path = tmp_path / "model.hidet"
    graph.build("sim", "cpu", "cpu+avx512", "cpu+avx2").save(path)
    archive = Archive.load(path)
    monkeypatch.setattr("hidet.runtime.executor.host_flags", lambda: set(FLAGS[isa]))
    assert fitting(archive, "cpu").main.target == f"cpu{isa}"
    x = np.ones((5, 3), np.float32)
    if set(FLAGS[isa]) <= host_flags():
        np.testing.assert_allclose(hidet.load(path)(x).numpy(), expected(graph, x), rtol=1e-6)


def test_of_several_the_plainest_is_loaded_where_nobody_knows_what_a_cpu_has(
    graph, tmp_path, monkeypatch
):
    graph.build("cpu+avx512", "cpu", "cpu+avx2").save(tmp_path / "model.hidet")
    for place in ("hidet.runtime.executor", "hidet.build.placement"):
        monkeypatch.setattr(f"{place}.host_flags", frozenset)
    assert fitting(Archive.load(tmp_path / "model.hidet"), "cpu").main.target == "cpu"


@pytest.fixture
def described():
    """A graph whose inputs have names, and whose size has limits."""
    n = size_symbol("n")
    x, y = hidet.symbol([n, 3], name="x"), hidet.symbol([n * 2], name="y")
    results = [hidet.ops.relu(x), y * 2.0]
    return hidet.FlowGraph([x, y], results, limits={"n": (2, 4)})


def ones(*shape):
    return np.ones(shape, np.float32)


def test_inputs_are_given_by_name_and_sizes_have_limits(described, tmp_path):
    path, plain = tmp_path / "model.hidet", tmp_path / "graph.safetensors"
    described.build().save(path)
    described.save(plain)
    as_graph = hidet.FlowGraph.load(plain)
    for each in (described.build(), hidet.load(path), as_graph.build()):
        assert each.plan.limits == {"n": (2, 4)}
        assert "x: float32[n, 3], y: float32[(n * 2)] -> " in repr(each)
        for found in (each(ones(3, 3), y=ones(6)), each(y=ones(6), x=ones(3, 3))):
            np.testing.assert_array_equal(found[1].numpy(), 2 * ones(6))
        for rows in (1, 5):
            said = rf"input x is float32\[{rows}, 3\]; the graph takes float32\[n, 3\], "
            with pytest.raises(ShapeMismatch, match=said + "where n is at least 2 and at most 4"):
                each(ones(rows, 3), ones(2 * rows))
        with pytest.raises(ShapeMismatch, match=r"input y is float32\[7\]"):
            each(ones(3, 3), ones(7))
        with pytest.raises(BadArgument, match="no input 'z'"):
            each(ones(3, 3), z=ones(6))
        with pytest.raises(BadArgument, match="input x is given twice"):
            each(ones(3, 3), x=ones(3, 3))
        with pytest.raises(BadArgument, match="no value for y"):
            each(x=ones(3, 3))
    with pytest.raises(ShapeMismatch, match="n is at least 2"):
        as_graph(hidet.asarray(ones(1, 3)), hidet.asarray(ones(2)))


def test_the_command_line_knows_names_and_limits(described, tmp_path, capsys):
    path, array = tmp_path / "model.hidet", tmp_path / "y.npy"
    described.build().save(path)
    np.save(array, ones(6))
    run = ["run", str(path)]
    assert main([*run, "--input", f"y={array}", "--size", "n=3"]) == 0
    printed = capsys.readouterr().out
    assert "n: at least 2 and at most 4\n" in printed
    assert "float32[6], min 2, mean 2, max 2" in printed
    assert main([*run, "--input", f"y={array}"]) == 1
    assert "pass --size n=4" in capsys.readouterr().err
    assert main([*run, "--size", "n=5"]) == 1
    assert "n is at least 2 and at most 4" in capsys.readouterr().err
    assert main([*run, *["--input", f"y={array}"] * 2]) == 1
    assert "input y is given twice" in capsys.readouterr().err
    assert main([*run, *["--input", str(array)] * 3]) == 1
    assert "3 inputs for a graph of 2" in capsys.readouterr().err


def altered(path, change):
    """A file as somebody else could have written it: its manifest changed, its hash right."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    facts = json.loads(members[MANIFEST].partition(b"\n")[2])
    change(facts["plans"]["main"])
    manifest = json.dumps(facts).encode()
    members[MANIFEST] = hashlib.sha256(manifest).hexdigest().encode() + b"\n" + manifest
    with zipfile.ZipFile(path, "w") as file:
        for name, body in members.items():
            file.writestr(name, body)


def test_a_file_without_names_and_limits_takes_any_size(described, tmp_path):
    def as_before(plan):
        del plan["limits"]
        for position, number in enumerate(plan["inputs"]):
            plan["buffers"][number]["name"] = f"input{position}"

    path = tmp_path / "model.hidet"
    described.build().save(path)
    altered(path, as_before)
    loaded = hidet.load(path)
    assert loaded(ones(9, 3), input1=ones(18))[0].shape == (9, 3)
    with pytest.raises(ShapeMismatch, match="input 1 is"):
        loaded(ones(9, 3), ones(17))


@pytest.mark.parametrize(
    "limits",
    [{"m": [2, 4]}, {"n": [4, 2]}, {"n": [-1, 2]}, {"n": [2]}, {"n": "24"}, {"n": [2.0, 4]}, [2, 4],
     {"n": [None, 4]}, {"n": [True, 4]}],
)  # fmt: skip
def test_limits_that_make_no_sense_are_refused(described, tmp_path, limits):
    path = tmp_path / "model.hidet"
    described.build().save(path)
    altered(path, lambda plan: plan.update(limits=limits))
    with pytest.raises(BadArchive):
        hidet.load(path)


def test_two_inputs_of_one_name_are_refused(described, tmp_path):
    path = tmp_path / "model.hidet"
    described.build().save(path)
    altered(path, lambda plan: plan["buffers"][plan["inputs"][1]].update(name="x"))
    with pytest.raises(BadArchive, match="two inputs have one name"):
        hidet.load(path)


def test_what_fits_no_device_is_refused(graph, tmp_path, monkeypatch):
    path = tmp_path / "gpu.hidet"
    graph.build("sm_86").save(path)
    monkeypatch.setattr("hidet.build.placement.device_count", lambda: 0)
    with pytest.raises(BadArchive, match="compiled for sm_86"):
        hidet.load(path)


def test_a_device_that_is_named_has_to_fit(graph, tmp_path):
    path = tmp_path / "gpu.hidet"
    graph.build("sm_80").save(path)
    with pytest.raises(BadArchive, match="sm_80"):
        hidet.load(path, "cpu")


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
    with pytest.raises(DtypeMismatch) as found:
        compiled(np.ones((4, 3), np.float64))
    assert found.value.help == "cast it first: `x.astype('float32')`, `x.to(torch.float32)`"
    with pytest.raises(BadArgument, match="is a str, no tensor"):
        compiled("x")
    with pytest.raises(ShapeMismatch, match="2 inputs for a graph of 1"):
        compiled(np.ones((4, 3), np.float32), "x")
    with pytest.raises(BadArgument, match="there is no input 'z'") as found:
        compiled(z=1)
    assert found.value.help.startswith("inputs: ")
    with pytest.raises(BadArgument, match="no CUDA graph"):
        graph.cuda_graph()


class Exported:
    """An array of a library that exports its memory, and can do nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **given):
        return self.array.__dlpack__(**given)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("saved", [False, True])
def test_inputs_in_another_order_are_copied_which_is_said_once(graph, saved, tmp_path):
    compiled = graph.build()
    if saved:
        compiled.save(tmp_path / "graph.hidet")
        compiled = hidet.load(tmp_path / "graph.hidet")
    x = np.random.default_rng(1).standard_normal((3, 5)).astype(np.float32)
    with pytest.warns(CopyWarning, match=r"copies input 0 of strides \(1, 5\)") as said:
        found = [compiled(given).numpy() for given in (x.T, x.T.copy(), x.T)]
    for each in found:
        np.testing.assert_allclose(each, expected(graph, x.T), rtol=1e-6)
    assert [each.filename for each in said] == [__file__]


@pytest.mark.filterwarnings("ignore::hidet.build.inputs.CopyWarning")
def test_inputs_with_gaps_are_copied_and_counted(graph):
    compiled = graph.build()
    x = np.random.default_rng(1).standard_normal((3, 5)).astype(np.float32)
    for given in (x.T, Exported(x.T), x.T):
        np.testing.assert_allclose(compiled(given).numpy(), expected(graph, x.T), rtol=1e-6)
    assert compiled.copied == 3
    compiled(x.T.copy())
    assert compiled.copied == 3


def test_numbers_of_numpy_have_no_axes():
    x = hidet.symbol((), "float32", "cpu")
    compiled = hidet.trace_from(x * 2, x).build()
    assert compiled(np.float32(1.5)).numpy() == 3
    with pytest.raises(DtypeMismatch):
        compiled(np.float64(1.5))


def test_inputs_of_all_kinds_come_in_turns(graph):
    compiled = graph.build()
    x = np.random.default_rng(1).standard_normal((5, 3)).astype(np.float32)
    for rows in (5, 2, 5):
        part = x[:rows]
        for given in (part, part.copy(), hidet.asarray(part), np.asfortranarray(part), part):
            np.testing.assert_allclose(compiled(given).numpy(), expected(graph, part), rtol=1e-6)
        for wrong in (part.astype(np.float64), part[0], None):
            with pytest.raises(BadArgument):
                compiled(wrong)
        with pytest.raises(ShapeMismatch, match="2 inputs for a graph of 1"):
            compiled(part, part)


def test_results_are_fresh_each_time(graph):
    compiled = graph.build()
    x = np.ones((4, 3), np.float32)
    first, second = compiled(x), compiled(2 * x)
    np.testing.assert_allclose(first.numpy(), expected(graph, x), rtol=1e-6)
    np.testing.assert_allclose(second.numpy(), expected(graph, 2 * x), rtol=1e-6)
    assert first.type == second.type
    assert (first.shape, first.device) == ((4, 2), "cpu")


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


def test_a_file_of_several_arrays_is_no_input(saved, tmp_path, capsys):
    np.savez(tmp_path / "two.npz", a=np.ones(3), b=np.ones(3))
    base = ["run", str(saved), "--device", "cpu"]
    assert main([*base, "--input", str(tmp_path / "two.npz")]) == 1
    assert "holds several arrays" in capsys.readouterr().err


@pytest.mark.gpu
def test_a_saved_graph_on_a_gpu(graph, saved):
    loaded = hidet.load(saved)
    assert loaded.device == "cuda:0"
    x = np.random.default_rng(0).standard_normal((129, 3)).astype(np.float32)
    result = loaded(hidet.asarray(x, device="cuda"))
    np.testing.assert_allclose(result.cpu().numpy(), expected(graph, x), rtol=1e-5, atol=1e-6)
