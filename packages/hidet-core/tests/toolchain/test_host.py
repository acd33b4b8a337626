import ctypes
import os
import signal
import subprocess
import sys

import pytest

from hidet.errors import CompilerError, MissingCompiler
from hidet.target import Target
from hidet.toolchain import compile_cpp, cpp_version, flags_for, probe_isa
from hidet.toolchain.host import NO_MEMCPY, NO_MMX, compiler


def test_a_source_becomes_a_shared_object(tmp_path):
    binary = compile_cpp('extern "C" int seven() { return 7; }')
    (tmp_path / "unit.so").write_bytes(binary)
    assert ctypes.CDLL(str(tmp_path / "unit.so")).seven() == 7


def test_flags_for_this_machine_compile_and_run(tmp_path):
    isa = probe_isa()
    flags = flags_for(Target.parse("cpu" if isa == "generic" else f"cpu+{isa}"))
    source = """extern "C" float sum(float *x, int n) {
      float all = 0;
      #pragma omp simd reduction(+ : all)
      for (int i = 0; i < n; i++) all += x[i];
      return all;
    }"""
    (tmp_path / "unit.so").write_bytes(compile_cpp(source, flags=flags))
    function = ctypes.CDLL(str(tmp_path / "unit.so")).sum
    function.restype = ctypes.c_float
    assert function((ctypes.c_float * 100)(*range(100)), 100) == 4950


@pytest.mark.skipif(not NO_MMX, reason="only x86 has registers of MMX")
@pytest.mark.parametrize("name", ["cpu", "cpu+avx2", "cpu+avx512"])
def test_registers_of_mmx_are_left_alone(name):
    source = "#ifdef __MMX__\n#error it may use them\n#endif"
    assert compile_cpp(source, flags=flags_for(Target.parse(name)))


@pytest.mark.parametrize(("version", "expected"), [("g++ 12.2", True), ("Apple clang 15", False)])
def test_only_gcc_is_told_to_keep_loops_that_copy(tmp_path, monkeypatch, version, expected):
    script = tmp_path / "compiler"
    script.write_text(
        f'#!/bin/sh\necho "{version}" "$@"\ncase "$1" in --version) ;; *) exit 1;; esac'
    )
    script.chmod(0o700)
    monkeypatch.setenv("CXX", str(script))
    with pytest.raises(CompilerError) as raised:
        compile_cpp("int x;")
    assert (NO_MEMCPY in str(raised.value)) == expected


def test_loops_that_copy_call_nothing():
    source = """extern "C" void copy(const float *__restrict__ x, float *__restrict__ y) {
      for (int i = 0; i < 3001; i++) y[i] = x[i];
    }"""
    assert b"memcpy" not in compile_cpp(source)


def test_a_full_disk_is_no_defect_of_ours(tmp_path, monkeypatch):
    script = tmp_path / "full"
    script.write_text("#!/bin/sh\necho error writing to x.s: No space left on device\nexit 1")
    script.chmod(0o700)
    monkeypatch.setenv("CXX", str(script))
    with pytest.raises(CompilerError, match=f"{script} has no room for its files in") as raised:
        compile_cpp("int x;")
    assert "TMPDIR" in raised.value.help


def test_a_rejected_source_shows_the_compilers_words():
    with pytest.raises(CompilerError, match="oops"):
        compile_cpp("int f() { return oops; }")


def test_a_missing_compiler_is_said(monkeypatch):
    monkeypatch.setenv("CXX", "/nonexistent")
    with pytest.raises(MissingCompiler, match="no C\\+\\+ compiler '/nonexistent'") as told:
        compile_cpp("")
    assert "CXX" in told.value.help
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(MissingCompiler, match="no C\\+\\+ compiler"):
        cpp_version()


def test_the_compiler_may_come_with_options(monkeypatch):
    path = compiler()[0]
    monkeypatch.setenv("CXX", f"{path} -DSEVEN=7")
    assert compiler() == (path, "-DSEVEN=7")
    assert compile_cpp('extern "C" int seven() { return SEVEN; }')


def test_the_version_names_compiler_and_release():
    assert compiler()[0] in cpp_version()
    assert any(letter.isdigit() for letter in cpp_version())


def test_the_widest_isa_is_one_we_have_flags_for():
    beside = ("", "+vnni", "+bf16", "+vnni+bf16")
    assert probe_isa() in ("generic", "avx2", *(f"avx512{each}" for each in beside))


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    compile_cpp("int x;")
    with pytest.raises(CompilerError):
        compile_cpp("int")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_ends_the_compiler_and_leaves_nothing(tmp_path, alive, eventually):
    slow = tmp_path / "slow"
    # By the time its number is told, who started it knows that it has.
    told = f'touch "$TMPDIR/passing"\nsleep 1\necho $$ > {tmp_path}/pid'
    slow.write_text(f"#!/bin/sh\n{told}\nsleep 300\n")
    slow.chmod(0o755)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    code = "from hidet.toolchain import compile_cpp; compile_cpp('int x;')"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"CXX": str(slow), "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
    )
    pid = tmp_path / "pid"
    eventually(lambda: pid.exists() and pid.read_text().strip())
    process.send_signal(signal.SIGINT)
    _, told = process.communicate()
    assert b"KeyboardInterrupt" in told
    assert not alive(int(pid.read_text()))
    assert list(temporary.iterdir()) == []
