"""Compilers for generated text, as fixtures."""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cuda.bindings import nvrtc
from cuda.pathfinder import find_nvidia_header_directory

FLAGS = ["-std=gnu++17", "-O2", "-fopenmp", "-shared", "-fPIC", "-Wall", "-Wno-psabi",
         "-Wno-unknown-pragmas", "-Werror"]  # fmt: skip


class Library:
    """Compiled CPU kernels; calls take numpy arrays and numbers."""

    def __init__(self, path):
        self._library = ctypes.CDLL(str(path))

    def __call__(self, name, *args):
        given = [
            ctypes.c_void_p(arg.ctypes.data) if isinstance(arg, np.ndarray) else ctypes.c_int(arg)
            for arg in args
        ]
        getattr(self._library, name)(*given)


@pytest.fixture(scope="session")
def compile_cpp(tmp_path_factory):
    def build(text, *flags):
        folder = tmp_path_factory.mktemp("cpp")
        source, library = folder / "kernels.cpp", folder / "kernels.so"
        source.write_text(text)
        command = ["g++", *FLAGS, *flags, str(source), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:4000] + "\n" + text
        return Library(library)

    return build


@pytest.fixture(scope="session")
def compile_cuda():
    headers = Path(find_nvidia_header_directory("cudart"))

    def build(text, output="ptx"):
        _, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernels.cu", 0, [], [])
        options = [
            b"--std=c++17",
            b"--gpu-architecture=sm_90a",
            f"-I{headers}".encode(),
            f"-I{headers / 'cccl'}".encode(),
        ]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode() + text
        length, read = (
            (nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
            if output == "ptx"
            else (nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
        )
        _, size = length(program)
        binary = b" " * size
        read(program, binary)
        nvrtc.nvrtcDestroyProgram(program)
        return binary.decode() if output == "ptx" else binary

    return build
