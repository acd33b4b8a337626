"""What goes wrong around a build: each gives a clear error or is recovered from, and the next run
is right."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from hidet import ops
from hidet.build.caching import written
from hidet.build.caching.cache import Cache, CacheWarning
from hidet.build.compile import compile_graph
from hidet.build.draft import RECIPES
from hidet.errors import BadArchive, CompilerError, MissingCompiler, OutOfMemory
from hidet.graph.flow import trace_from
from hidet.graph.tensor import symbol
from hidet.runtime.binding.memory import CudaAllocator, view_of
from hidet.runtime.executor import Executor
from hidet.toolchain import nvrtc

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Each test has a cache of its own, and no recipes from other tests."""
    monkeypatch.setenv("HIDET_CACHE_DIR", str(tmp_path / "cache"))
    RECIPES.known.clear()


def graph(power=3):
    x = symbol((2, 3))
    y = x
    for _ in range(power):
        y = y * x
    return trace_from([ops.exp(y * 1e-3), ops.sum(y)], [x])


def result(archive):
    outputs = Executor(archive)([view_of(X)])
    return [each.owner.copy() for each in outputs]


def check(archive, power=3):
    exponential, total = result(archive)
    np.testing.assert_allclose(exponential, np.exp(X ** (power + 1) * 1e-3), rtol=1e-5)
    np.testing.assert_allclose(total, (X ** (power + 1)).sum(), rtol=1e-6)


def entries(cache=None):
    cache = cache or Cache()
    return sorted(path for _, _, path in cache.entries() if path.suffix != ".lock")


def wrapper(folder, script):
    """A C++ compiler that does something first; `$CALLS` is a file with a line for each build."""
    path = folder / "cxx"
    path.write_text(f'#!/bin/sh\ncase "$*" in *unit.cpp*) {script};; esac\nexec c++ "$@"\n')
    path.chmod(0o755)
    return str(path)


def test_a_missing_compiler(monkeypatch):
    monkeypatch.setenv("CXX", "/nonexistent")
    with pytest.raises(MissingCompiler, match=r"no C.. compiler '/nonexistent'") as caught:
        compile_graph(graph())
    assert "CXX" in caught.value.help
    monkeypatch.delenv("CXX")
    check(compile_graph(graph()).archive)


def test_missing_nvrtc(monkeypatch):
    monkeypatch.setattr(nvrtc, "nvrtc", None)
    nvrtc.library.cache_clear()
    with pytest.raises(MissingCompiler, match="cuda-bindings") as caught:
        compile_graph(graph(), "sm_90a")
    assert "pip install" in caught.value.help
    monkeypatch.undo()
    nvrtc.library.cache_clear()


def test_rejected_source_names_the_compiler_and_what_it_said(monkeypatch):
    unit = written.cpu.unit
    monkeypatch.setattr(written.cpu, "unit", lambda group: unit(group) + "\nthis is no C++;\n")
    with pytest.raises(CompilerError, match="rejected generated code") as caught:
        compile_graph(graph())
    assert "this" in caught.value.message
    assert entries() == []
    monkeypatch.undo()
    check(compile_graph(graph()).archive)


def test_rejected_cuda_source(monkeypatch):
    monkeypatch.setattr(written.cuda, "unit", lambda group: "this is no CUDA;")
    with pytest.raises(CompilerError, match="NVRTC rejected"):
        compile_graph(graph(), "sm_90a")
    assert entries() == []


@pytest.mark.parametrize("damage", ["flip", "truncate"])
def test_damaged_entries_are_compiled_again(damage):
    check(compile_graph(graph()).archive)
    paths = entries()
    assert len(paths) >= 2  # the graph as a whole, and its binaries
    for path in paths:
        content = path.read_bytes()
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 0x40]) + content[middle + 1 :]
        path.write_bytes(flipped if damage == "flip" else content[:middle])
    with pytest.warns(CacheWarning, match="damaged; it is compiled again") as seen:
        check(compile_graph(graph()).archive)
    assert len({str(each.message) for each in seen}) == len(seen) == len(paths)
    assert entries() == paths
    check(compile_graph(graph()).archive)


def test_a_read_only_cache(tmp_path):
    root = tmp_path / "cache" / "kernels"
    root.mkdir(parents=True, mode=0o700)
    root.chmod(0o500)
    if os.access(root, os.W_OK):
        pytest.skip("this user may write everywhere")
    with pytest.warns(CacheWarning, match="Permission denied") as seen:
        check(compile_graph(graph()).archive)
    assert len(seen) == 1


def test_a_cache_of_others(tmp_path):
    root = tmp_path / "cache" / "kernels"
    root.mkdir(parents=True)
    root.chmod(0o777)
    with pytest.warns(CacheWarning, match="not trusted") as seen:
        check(compile_graph(graph()).archive)
    assert len(seen) == 1
    assert entries() == []


def test_a_full_disk(monkeypatch):
    def fail(path, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hidet.build.caching.cache.write_whole", fail)
    with pytest.warns(CacheWarning, match="No space left") as seen:
        check(compile_graph(graph()).archive)
    assert len(seen) == 1
    monkeypatch.undo()


PROGRAM = """
import numpy as np
from hidet import ops
from hidet.build.compile import compile_graph
from hidet.graph.flow import trace_from
from hidet.graph.tensor import symbol
from hidet.runtime.executor import Executor
from hidet.runtime.binding.memory import view_of
x = symbol((2, 3))
y = ops.exp(x * x) / ops.sum(x)
for i in range(8):
    y = ops.softmax(ops.cumsum(y, -1) * (i + 2.0), -1)
archive = compile_graph(trace_from([y], [x])).archive
values = np.arange(6, dtype=np.float32).reshape(2, 3)
print(round(float(Executor(archive)([view_of(values)])[0].owner.sum()), 5))
"""


def start(**environment):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_processes_at_once_compile_once(tmp_path):
    calls = tmp_path / "calls"
    cxx = wrapper(tmp_path, f"echo $$ >> {calls}; sleep 0.3")
    both = [start(CXX=cxx, HIDET_JOBS="1") for _ in range(2)]
    answers = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], answers
    assert [out.strip() for out, _ in answers] == ["2.0", "2.0"]
    assert len(calls.read_text().splitlines()) == 1


def test_interrupted_builds_leave_nothing_behind(tmp_path, alive, eventually):
    calls = tmp_path / "calls"
    cxx = wrapper(tmp_path, f"echo $$ >> {calls}; sleep 300")
    process = start(CXX=cxx, HIDET_JOBS="2", TMPDIR=str(tmp_path))
    try:
        eventually(lambda: calls.exists() and calls.read_text().endswith("\n"))
        process.send_signal(signal.SIGINT)
        _, complaint = process.communicate()
    finally:
        process.kill()
    assert process.returncode != 0
    assert "KeyboardInterrupt" in complaint
    for number in map(int, calls.read_text().split()):
        eventually(lambda number=number: not alive(number))
    assert entries() == []
    assert list(tmp_path.rglob("*.part")) == list(tmp_path.glob("hidet-*")) == []
    out, complaint = start().communicate()
    assert out.strip() == "2.0", complaint


def test_code_for_another_device_is_refused():
    archive = compile_graph(graph(), "sm_90a").archive
    with pytest.raises(BadArchive, match="compiled for sm_90a, not for the CPU"):
        Executor(archive)


@pytest.mark.gpu
def test_code_for_another_gpu_is_refused():
    archive = compile_graph(graph(), "sm_80").archive
    with pytest.raises(BadArchive, match="compiled for sm_80"):
        Executor(archive, "cuda:0")


@pytest.mark.gpu
def test_a_device_without_free_memory():
    with pytest.raises(OutOfMemory, match="not enough free memory"):
        CudaAllocator().empty(1 << 50, "cuda:0")
    assert CudaAllocator().empty(1 << 20, "cuda:0").pointer
