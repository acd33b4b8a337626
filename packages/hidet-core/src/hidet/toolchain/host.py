"""The machine's C++ compiler: one translation unit to one shared object."""

from __future__ import annotations

import errno
import os
import platform
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from itertools import chain
from pathlib import Path
from threading import Lock

from hidet.errors import CompilerError, MissingCompiler
from hidet.target import Target

COMMON = ("-O3", "-std=c++17", "-fPIC", "-fopenmp-simd", "-w")
ISA_FLAGS = {
    "generic": (),
    "avx2": ("-mavx2", "-mfma", "-mf16c"),
    "avx512": (
        "-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mavx2", "-mfma", "-mf16c",
        "-mprefer-vector-width=512",
    ),
}  # fmt: skip
NO_MMX = ("-mno-mmx",) if platform.machine().lower() in ("x86_64", "amd64") else ()
"""GCC 12 keeps integers in registers of MMX when it runs out of others. They are those of x87, and
long doubles of the process are wrong from then on: numpy printed 0.5 as 5e-01."""
NO_MEMCPY = "-fno-tree-loop-distribute-patterns"
"""GCC replaces loops that copy a row by calls of memcpy. Above 2 KiB that is `rep movsb`, which
runs on Zen 4 at half the speed of vector stores until the result is in a near cache."""
FEATURE_FLAGS = {"vnni": ("-mavx512vnni",), "bf16": ("-DHIDET_BF16",)}
"""What is said of features. Text spells `vdpbf16ps` as assembly, and compilers older than GCC 10
have no flag for it."""


def flags_for(target: Target) -> tuple[str, ...]:
    """The instruction sets that generated code may use."""
    features = [flags for name, flags in FEATURE_FLAGS.items() if target.has_feature(name)]
    return (*NO_MMX, *ISA_FLAGS[target.arch], *chain.from_iterable(features))


def compile_cpp(source: str, *, flags: tuple[str, ...] = ()) -> bytes:
    """The shared object of a C++ source; its functions have C linkage.

    Raises MissingCompiler where there is no compiler and CompilerError, with what it printed,
    where it rejects the source. Nothing is left behind, also not after Ctrl-C.
    """
    with tempfile.TemporaryDirectory(prefix="hidet-") as folder:
        source_file, unit, binary = (Path(folder, f"unit.{kind}") for kind in ("cpp", "o", "so"))
        source_file.write_text(source)
        command = compiler()
        every = (*COMMON, *own_flags(command, folder), *flags)
        must_run([*command, *every, "-c", str(source_file), "-o", str(unit)], folder)
        must_run([*command, "-shared", "-pthread", str(unit), "-o", str(binary)], folder)
        return binary.read_bytes()


def must_run(command: list[str], folder: str) -> None:
    """Run a step of the compiler; CompilerError with what it printed if it fails."""
    code, printed = run(command, folder)
    if code != 0 and os.strerror(errno.ENOSPC) in printed:
        raise CompilerError(
            f"{command[0]} has no room for its files in {Path(folder).parent}",
            help="free some space there, or set TMPDIR to another folder",
        )
    if code != 0:
        raise CompilerError(
            f"{command[0]} rejected generated code (exit {code}):\n{printed[-4000:]}",
            help="this is a defect of hidet, or a compiler older than GCC 9; please report it",
        )


class Compilers:
    """Compilers at work for one build."""

    def __init__(self) -> None:
        self.processes: set[subprocess.Popen[str]] = set()
        self.ended = False
        self.lock = Lock()

    def start(self, command: list[str], folder: str | None) -> subprocess.Popen[str]:
        """Start one in a process group of its own, unless all are to end."""
        with self.lock:
            if self.ended:
                raise CompilerError("the build was given up")
            process = subprocess.Popen(
                command,
                env=os.environ | ({"TMPDIR": folder} if folder else {}),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            self.processes.add(process)
        return process

    def finish(self, process: subprocess.Popen[str]) -> None:
        """One is done, or is no longer wanted."""
        with self.lock:
            self.processes.discard(process)
            end(process)

    def end(self) -> None:
        """End those at work, and let no other start."""
        with self.lock:
            self.ended = True
            for process in self.processes:
                end(process)


_compilers: ContextVar[Compilers | None] = ContextVar("hidet_compilers", default=None)


@contextmanager
def ended_together() -> Iterator[Compilers]:
    """Compilers started in this block, also by threads with copies of its context, as one."""
    compilers = Compilers()
    token = _compilers.set(compilers)
    try:
        yield compilers
    finally:
        _compilers.reset(token)


def end(process: subprocess.Popen[str]) -> None:
    """Kill a compiler that still runs, and whatever it has started."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def run(command: list[str], folder: str | None = None) -> tuple[int, str]:
    """Run a compiler; end it if we are interrupted.

    Its own passing files go to `folder`: a compiler that is killed does not remove them.
    """
    compilers = _compilers.get() or Compilers()
    process = compilers.start(command, folder)
    try:
        printed, _ = process.communicate()
    finally:
        compilers.finish(process)
        process.wait()
    return process.returncode, printed


def compiler() -> tuple[str, ...]:
    """The compiler's command: `CXX` if it is set, else the first of c++, g++, clang++."""
    given = shlex.split(os.environ.get("CXX", ""))
    for name in [given[0]] if given else ["c++", "g++", "clang++"]:
        found = shutil.which(name)
        if found:
            return found, *given[1:]
    raise MissingCompiler(
        f"there is no C++ compiler {given[0]!r}" if given else "there is no C++ compiler",
        help="install one (apt-get install g++) or set CXX to its path",
    )


def cpp_version() -> str:
    """Which compiler would be used, and its version."""
    return version_of(compiler())


@lru_cache(maxsize=8)
def version_of(command: tuple[str, ...]) -> str:
    """The first line of a compiler's `--version`, with its target machine."""
    code, printed = run([*command, "--version"])
    if code != 0 or not printed.strip():
        raise MissingCompiler(f"{command[0]} does not say its version: {printed[:200]}")
    return f"{' '.join(command)}: {printed.splitlines()[0]}"


_own_flags: dict[tuple[str, ...], tuple[str, ...]] = {}


def own_flags(command: tuple[str, ...], folder: str) -> tuple[str, ...]:
    """Options that a compiler has and others reject; `folder` as `run` has it."""
    if command not in _own_flags:
        _, printed = run([*command, "--version"], folder)
        _own_flags[command] = () if "clang" in printed else (NO_MEMCPY,)
    return _own_flags[command]


@lru_cache(maxsize=1)
def probe_isa() -> str:
    """The widest instruction set of this machine that we generate code for, with what it has beside
    it, as targets are spelled."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return "generic"
    flags = next(
        (set(line.split()) for line in text.splitlines() if line.startswith("flags")), set()
    )
    if {"avx512f", "avx512bw", "avx512vl", "avx512dq", "fma", "f16c"} <= flags:
        beside = {"avx512_vnni": "+vnni", "avx512_bf16": "+bf16"}
        return "avx512" + "".join(name for flag, name in beside.items() if flag in flags)
    return "avx2" if {"avx2", "fma", "f16c"} <= flags else "generic"
