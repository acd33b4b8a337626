"""`HIDET_DUMP`: every stage of a compilation as a file."""

import pytest

import hidet
from hidet import ops
from hidet.build.compile import compile_graph
from hidet.build.module import build_module
from hidet.errors import BadKernel
from hidet.graph.flow import trace_from
from hidet.graph.tensor import symbol
from hidet.ir.kernel import KernelKind
from hidet.lang import attr, f32
from hidet.optimize.pipeline import PASSES
from hidet.options import options
from hidet.passes.launches import observers
from hidet.passes.pipeline import CUDA, passes_for


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HIDET_CACHE_DIR", str(tmp_path / "cache"))


def graph(rows=3):
    x = symbol((rows, 5))
    return trace_from([ops.softmax(ops.relu(x), -1)], [x])


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("target", "passes", "suffix"),
    [
        ("cpu", passes_for(KernelKind.CPU), "cpp"),
        ("sm_80", CUDA, "cu"),
        ("sm_90a", passes_for(KernelKind.CUDA, overlap=True), "cu"),
    ],
)
def test_each_stage_of_graph_and_kernels_is_a_file(tmp_path, target, passes, suffix):
    out = tmp_path / "out"
    for _ in range(2):  # also when the graph is in the cache
        with options(dump=str(out)):
            compile_graph(graph(), target)
    stages = ["input", *(each.__name__ for each in PASSES), "groups_of_main"]
    assert names(out / "graph") == [f"{i:02}-{each}.txt" for i, each in enumerate(stages)]
    assert "Relu" in (out / "graph" / "00-input.txt").read_text()
    kernels = [path for path in out.iterdir() if path.name != "graph"]
    assert kernels
    for folder in kernels:
        steps = ["scheduled", *(each.name for each in passes)]
        expected = [f"{i:02}-{each}.txt" for i, each in enumerate(steps)]
        assert names(folder) == [*expected, f"{len(steps):02}-kernel.{suffix}"]
        assert "kernel" in (folder / "00-scheduled.txt").read_text()
        source = (folder / f"{len(steps):02}-kernel.{suffix}").read_text()
        assert 'extern "C"' in source


def test_another_graph_gets_another_folder(tmp_path):
    with options(dump=str(tmp_path / "out")):
        compile_graph(graph(3), "cpu")
        compile_graph(graph(4), "cpu")
    assert len([path for path in (tmp_path / "out").iterdir() if "graph" in path.name]) == 2


def module():
    with hidet.script_module() as made:

        @hidet.script
        def fill(y: f32[4]):
            attr.func_kind = "cpu_kernel"
            for i in range(4):
                y[i] = 1.0

    return made.ir_module()


def test_kernels_of_scripts_are_written_too(tmp_path):
    with options(dump=str(tmp_path / "out")):
        build_module(module())
    (folder,) = (tmp_path / "out").iterdir()
    assert folder.name.startswith("fill_")
    assert "y[i] = 1.0" in (folder / "00-scheduled.txt").read_text()


def test_nothing_is_written_unasked(tmp_path):
    compile_graph(graph(), "cpu")
    assert {path.name for path in tmp_path.iterdir()} <= {"cache"}


def test_the_option_check_checks_after_every_pass(monkeypatch):
    def refuse(kernel, forbidden=()):
        raise BadKernel("seen")

    monkeypatch.setattr(observers, "check", refuse)
    build_module(module())
    with options(check=True), pytest.raises(BadKernel, match="seen"):
        build_module(module())
