"""NVRTC in process: CUDA C++ to a cubin, for any architecture, with no GPU and no driver."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hidet.errors import CompilerError, MissingCompiler

try:
    from cuda.bindings import nvrtc
except ImportError:  # a platform without NVIDIA's bindings: everything but CUDA still works
    nvrtc = None

INSTALL = "pip install 'hidet-core[cuda13]' (or [cuda12] for an older driver)"
"""What brings NVRTC and its headers."""

FATAL = {
    "C7508": "setmaxnreg was ignored",
    "C7510": "wgmma was serialised for lack of registers",
    "C7514": "wgmma was serialised",
    "C7517": "waits were put between wgmma",
}
"""Advice of ptxas after which a kernel is not what was meant."""


@dataclass(frozen=True)
class ResourceUsage:
    """What one kernel takes of a multiprocessor."""

    registers: int
    spill_bytes: int
    shared_bytes: int


@dataclass(frozen=True)
class CompiledCuda:
    """A cubin, what the compiler printed, and what each kernel takes."""

    cubin: bytes
    log: str
    usage: dict[str, ResourceUsage]

    @property
    def doubts(self) -> list[str]:
        """Why the kernel should not be used although it compiled."""
        return [reason for code, reason in FATAL.items() if code in self.log]


def compile_cuda(
    source: str, *, arch: str, name: str = "unit", options: tuple[str, ...] = ()
) -> CompiledCuda:
    """The cubin of a CUDA source for `arch`, such as "sm_90a".

    Raises MissingCompiler without NVRTC or its headers and CompilerError, with its log, for a bad
    source.
    """
    library()
    flags = [
        f"--gpu-architecture={arch}",
        "-std=c++17",
        "--ptxas-options=-v",
        *(f"-I{folder}" for folder in headers()),
        *options,
    ]
    program = checked(nvrtc.nvrtcCreateProgram(source.encode(), f"{name}.cu".encode(), 0, [], []))
    try:
        (status,) = nvrtc.nvrtcCompileProgram(program, len(flags), [f.encode() for f in flags])
        raw = read(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
        log = raw.rstrip(b"\0 \n").decode(errors="replace")
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            absent = re.search(r'could not open source file "([^"]+)"', log)
            if absent is not None:
                raise MissingCompiler(f"NVRTC does not find its header {absent[1]}", help=INSTALL)
            raise CompilerError(
                f"NVRTC rejected {name} for {arch}:\n{log[-4000:]}",
                help="this is a defect of hidet; please report it with the text above",
            )
        cubin = read(program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return CompiledCuda(cubin, log, resource_usage(log))


def cuda_version() -> str:
    """The version of NVRTC."""
    major, minor = library()
    return f"nvrtc {major}.{minor}"


@lru_cache(maxsize=1)
def library() -> tuple[int, int]:
    """NVRTC's version; raises MissingCompiler if it is not there."""
    if nvrtc is None:
        raise MissingCompiler("cuda-bindings is not installed", help=INSTALL)
    try:
        return checked(nvrtc.nvrtcVersion())  # type: ignore[no-any-return]
    except (RuntimeError, OSError) as error:
        raise MissingCompiler(f"NVRTC cannot be loaded: {error}", help=INSTALL) from error


def checked(result: tuple[Any, ...]) -> Any:
    """What a call of NVRTC returned; raises if it failed."""
    status, *values = result
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise CompilerError(f"NVRTC failed: {status.name}")
    return values[0] if len(values) == 1 else tuple(values)


def read(program: Any, size: Any, fill: Any) -> bytes:
    """One of NVRTC's outputs. It writes into memory that is ours: Python shares bytes objects."""
    buffer = bytearray(checked(size(program)))
    checked((*fill(program, buffer), None))
    return bytes(buffer)


@lru_cache(maxsize=1)
def headers() -> tuple[str, ...]:
    """The folders with cuda_fp16.h and the like: NVIDIA's wheels, else CUDA_HOME."""
    major = library()[0]
    roots: list[Path] = []
    spec = find_spec("nvidia")
    if spec is not None:
        roots += [Path(each) for each in spec.submodule_search_locations or ()]
    found = [
        folder
        for root in roots
        for folder in (root / f"cu{major}" / "include", root / "cuda_runtime" / "include")
        if (folder / "cuda_fp16.h").exists()
    ]
    home = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "include"
    if not found and (home / "cuda_fp16.h").exists():
        found = [home]
    return tuple(map(str, found[:1]))


def resource_usage(log: str) -> dict[str, ResourceUsage]:
    """What ptxas says of each kernel."""
    usage = {}
    pattern = re.compile(
        r"Compiling entry function '(\w+)'.*?(\d+) bytes spill stores, (\d+) bytes spill loads"
        r".*?Used (\d+) registers(.*?)$",
        re.S | re.M,
    )
    for name, stores, loads, registers, rest in pattern.findall(log):
        shared = re.search(r"(\d+) bytes smem", rest)
        spilled = int(stores) + int(loads)
        usage[name] = ResourceUsage(int(registers), spilled, int(shared[1]) if shared else 0)
    return usage
